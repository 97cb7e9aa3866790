import { Fn, type Stack } from "aws-cdk-lib";
import { CfnManagedPolicy } from "aws-cdk-lib/aws-iam";
import { isGiven, valuesOf } from "../parts/parameters.ts";
import { allow, policyDocument, when } from "../parts/permissions.ts";
import { tell } from "../parts/told.ts";
import type { Announcements } from "./announcements.ts";
import type { ScannerParameters } from "./scanner-parameters.ts";

const TAGGING = [
  "s3:GetObjectTagging",
  "s3:GetObjectVersionTagging",
  "s3:PutObjectTagging",
  "s3:PutObjectVersionTagging",
];
const DELETING = ["s3:DeleteObject", "s3:DeleteObjectVersion"];

/**
 * What scanning an object takes: to read it, to tag or delete it where that is wanted, and to tell topic and bus of it.
 * Workers have it, and the synchronous fleet.
 */
export function objectScansPolicy(
  stack: Stack,
  parameters: ScannerParameters,
  { findings, events, key }: Announcements,
): CfnManagedPolicy {
  const { buckets, bucketKeys, tagFiles, deleteInfectedFiles, reportEventBus } = parameters;
  const someBuckets = isGiven(stack, buckets);
  // All objects of each bucket: the list of ARNs with /* behind every one.
  const objects = Fn.split(",", Fn.join("", [Fn.join("/*,", valuesOf(buckets)), "/*"]));
  const policy = new CfnManagedPolicy(stack, "ObjectScans", {
    description: "Read and mark objects of the buckets that are scanned, and tell of them",
    policyDocument: policyDocument([
      allow("TellFindings", ["sns:Publish"], [findings.topicArn]),
      allow("EncryptFindings", ["kms:Decrypt", "kms:GenerateDataKey"], [key.keyArn]),
      when(reportEventBus.on, allow("EmitEvents", ["events:PutEvents"], [events.eventBusArn])),
      // Without it S3 says "forbidden" of an object that is not there.
      when(someBuckets, allow("FindObjects", ["s3:ListBucket"], valuesOf(buckets))),
      when(someBuckets, allow("ReadObjects", ["s3:GetObject", "s3:GetObjectVersion"], objects)),
      when(isGiven(stack, bucketKeys), allow("DecryptObjects", ["kms:Decrypt"], valuesOf(bucketKeys))),
      when(someBuckets, when(tagFiles.on, allow("TagObjects", TAGGING, objects))),
      when(someBuckets, when(deleteInfectedFiles.on, allow("DeleteObjects", DELETING, objects))),
    ]),
  });
  tell(stack, "ObjectScansPolicyArn", policy.ref);
  return policy;
}
