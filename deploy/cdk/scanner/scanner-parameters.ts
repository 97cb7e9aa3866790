import type { CfnParameter, Stack } from "aws-cdk-lib";
import {
  callbackNetworks,
  is,
  isNot,
  listParameter,
  parameter,
  refuse,
  type Switch,
  yesOrNo,
} from "../parts/parameters.ts";

export interface ScannerParameters {
  imageRepository: CfnParameter;
  imageTag: CfnParameter;
  engine: CfnParameter;
  downloads: Switch;
  reportEventBus: Switch;
  signCallbackInvocations: Switch;
  buckets: CfnParameter;
  bucketKeys: CfnParameter;
  deleteInfectedFiles: Switch;
  tagFiles: Switch;
  tagKey: CfnParameter;
  reportCleanFiles: Switch;
  minWorkers: CfnParameter;
  maxWorkers: CfnParameter;
  networkCidr: CfnParameter;
  callbackNetworks: CfnParameter;
  alarmEmail: CfnParameter;
}

/** What an operator says about an installation. Only ImageTag has no default. */
export function scannerParameters(stack: Stack): ScannerParameters {
  const parameters: ScannerParameters = {
    imageRepository: parameter(stack, "ImageRepository", {
      description: "Repository in this account's ECR that holds both container images",
      default: "lazaret",
      allowedPattern: "[a-z0-9][a-z0-9._/-]{1,255}",
      constraintDescription: "must be the name of an ECR repository, without the registry",
    }),
    imageTag: parameter(stack, "ImageTag", {
      description: "Tag of the image of the service; the image of clamd has the same with -clamd behind it",
      allowedPattern: "[A-Za-z0-9_][A-Za-z0-9._-]{0,120}",
      constraintDescription: "must be an image tag",
    }),
    engine: parameter(stack, "Engine", {
      description: "P tells the real file type and scans with rules and clamd, Q is clamd alone",
      default: "P",
      allowedValues: ["P", "Q"],
    }),
    downloads: yesOrNo(stack, "Downloads", {
      description: "false makes a private network without a way to the internet: no download jobs, no public callbacks",
      default: true,
    }),
    reportEventBus: yesOrNo(stack, "ReportEventBus", {
      description: "Emit scan results as events on the event bus of this stack",
      default: false,
    }),
    signCallbackInvocations: yesOrNo(stack, "SignCallbackInvocations", {
      description: "Sign callbacks; the public key is then in the parameter store under /scanner/<this stack>/",
      default: false,
    }),
    ...objectParameters(stack),
    minWorkers: parameter(stack, "MinWorkers", {
      type: "Number",
      description: "Workers that always run; they report the age of the signatures even when there is nothing to do",
      default: 1,
      minValue: 1,
      maxValue: 1000,
    }),
    maxWorkers: parameter(stack, "MaxWorkers", {
      type: "Number",
      description: "Workers at most, however many jobs wait; no less than MinWorkers",
      default: 10,
      minValue: 1,
      maxValue: 5000,
    }),
    networkCidr: parameter(stack, "NetworkCidr", {
      description: "Addresses of the network that this stack makes, at least 16,384 of them",
      default: "10.80.0.0/16",
      allowedPattern: "(\\d{1,3}\\.){3}\\d{1,3}/1[678]",
      constraintDescription: "must be a network such as 10.80.0.0/16, /16 to /18",
    }),
    callbackNetworks: callbackNetworks(stack),
    alarmEmail: parameter(stack, "AlarmEmail", {
      description: "Address that gets a mail for each alarm; it must confirm once. Empty for none",
      default: "",
      allowedPattern: "|[^\\s@]+@[^\\s@]+",
      constraintDescription: "must be an email address, or empty",
    }),
  };

  refuse(stack, "DeletedFilesNeedBuckets", {
    when: is(parameters.deleteInfectedFiles.parameter, "true"),
    must: isNot(parameters.buckets, ""),
    message: "DeleteInfectedFiles needs Buckets: name the buckets that infected files may be deleted from",
  });
  refuse(stack, "BucketKeysNeedBuckets", {
    when: isNot(parameters.bucketKeys, ""),
    must: isNot(parameters.buckets, ""),
    message: "BucketKeys needs Buckets: keys without buckets open nothing",
  });
  return parameters;
}

type ObjectParameters = Pick<
  ScannerParameters,
  "buckets" | "bucketKeys" | "deleteInfectedFiles" | "tagFiles" | "tagKey" | "reportCleanFiles"
>;

function objectParameters(stack: Stack): ObjectParameters {
  return {
    buckets: listParameter(stack, "Buckets", {
      description: "ARNs of the buckets whose objects may be scanned, comma-separated. Empty for none",
      allowedPattern: "arn:[a-z-]+:s3:::[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]",
      constraintDescription:
        "must be ARNs of buckets, such as arn:aws:s3:::uploads, with commas and no spaces between them",
    }),
    bucketKeys: listParameter(stack, "BucketKeys", {
      description: "ARNs of the KMS keys that objects in those buckets are encrypted with. Empty for none",
      allowedPattern: "arn:[a-z-]+:kms:[a-z0-9-]+:\\d{12}:key/[A-Za-z0-9-]+",
      constraintDescription: "must be ARNs of KMS keys, with commas and no spaces between them",
    }),
    deleteInfectedFiles: yesOrNo(stack, "DeleteInfectedFiles", {
      description: "Delete objects that are infected",
      default: false,
    }),
    tagFiles: yesOrNo(stack, "TagFiles", { description: "Tag objects that were scanned", default: true }),
    tagKey: parameter(stack, "TagKey", {
      description: "Key of that tag; its value is clean, infected or no",
      default: "scanner",
      allowedPattern: "[\\w .:/=+@-]{1,128}",
      constraintDescription: "must be 1 to 128 characters that S3 allows in tags",
    }),
    reportCleanFiles: yesOrNo(stack, "ReportCleanFiles", {
      description: "Tell the findings topic of clean objects too",
      default: true,
    }),
  };
}
