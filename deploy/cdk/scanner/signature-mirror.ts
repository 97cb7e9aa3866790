import { Fn, type Stack } from "aws-cdk-lib";
import { AnyPrincipal, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { BlockPublicAccess, Bucket, BucketEncryption } from "aws-cdk-lib/aws-s3";
import { explained } from "../parts/explained.ts";
import { onlyWhen } from "../parts/only-when.ts";
import { tell } from "../parts/told.ts";
import type { Network } from "./network.ts";

/**
 * In a network without internet signatures come from a bucket, which an operator fills from outside. Reading needs no
 * credentials, because freshclam has none, but the way through this network's own endpoint: the bucket is not public.
 * Answers the address, or `-` where the servers of ClamAV can be reached.
 */
export function signatureMirror(stack: Stack, { isPrivate, objectsEndpoint }: Network): string {
  const bucket = new Bucket(stack, "Signatures", {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    encryption: BucketEncryption.S3_MANAGED,
    enforceSSL: true,
    versioned: true,
  });
  const fromHere = { StringEquals: { "aws:SourceVpce": objectsEndpoint.vpcEndpointId } };
  const read = { principals: [new AnyPrincipal()], conditions: fromHere };
  // To list is what makes S3 say "not found" of a file that is not there; "forbidden" would make freshclam give up.
  bucket.addToResourcePolicy(
    new PolicyStatement({ ...read, actions: ["s3:ListBucket"], resources: [bucket.bucketArn] }),
  );
  bucket.addToResourcePolicy(
    new PolicyStatement({ ...read, actions: ["s3:GetObject"], resources: [bucket.arnForObjects("*")] }),
  );
  explained(bucket, {
    "AwsSolutions::AwsSolutions-S1":
      "holds signatures that everybody can get from ClamAV; who reads them is in the network's flow log",
  });
  onlyWhen(isPrivate, bucket);

  const address = `https://${bucket.bucketRegionalDomainName}`;
  tell(stack, "SignatureMirror", address, isPrivate);
  return Fn.conditionIf(isPrivate.logicalId, address, "-").toString();
}
