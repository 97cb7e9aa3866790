import { Aws, Duration, type Stack } from "aws-cdk-lib";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { BlockPublicAccess, Bucket, BucketEncryption } from "aws-cdk-lib/aws-s3";
import { explained } from "../parts/explained.ts";

/** Where the load balancer writes a line for each request. Kept when the stack is deleted. */
export function accessLogs(stack: Stack): Bucket {
  const bucket = new Bucket(stack, "AccessLogs", {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    // The only kind of encryption that load balancers can write with.
    encryption: BucketEncryption.S3_MANAGED,
    enforceSSL: true,
    lifecycleRules: [{ expiration: Duration.days(90) }],
  });
  bucket.addToResourcePolicy(
    new PolicyStatement({
      sid: "FromLoadBalancers",
      principals: [new ServicePrincipal("logdelivery.elasticloadbalancing.amazonaws.com")],
      actions: ["s3:PutObject"],
      resources: [bucket.arnForObjects(`AWSLogs/${Aws.ACCOUNT_ID}/*`)],
      conditions: { StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID } },
    }),
  );
  explained(bucket, { "AwsSolutions::AwsSolutions-S1": "holds access logs itself; logging those would never end" });
  return bucket;
}
