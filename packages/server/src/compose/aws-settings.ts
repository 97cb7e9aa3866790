import type { AddressGuard } from "../net/address-guard.ts";
import type { AwsPlatformOptions } from "../platforms/aws/platform.ts";
import type { Settings } from "../settings.ts";
import { CannotStart } from "./cannot-start.ts";

const needed = {
  awsQueueUrl: "LAZARET_AWS_QUEUE_URL",
  awsDeadLettersUrl: "LAZARET_AWS_DEAD_LETTERS_URL",
  awsTable: "LAZARET_AWS_TABLE",
  awsTopicArn: "LAZARET_AWS_TOPIC_ARN",
} as const;

/** What the AWS platform is told. Throws with all that is missing at once. */
export function awsOptions(
  settings: Settings,
  parts: {
    guard: AddressGuard;
    callbackGuard: AddressGuard;
    problemWith: AwsPlatformOptions["checks"]["object"];
    now: () => number;
  },
): AwsPlatformOptions {
  const missing = Object.entries(needed).filter(([name]) => settings[name as keyof typeof needed] === "");
  if (missing.length > 0) {
    throw new CannotStart(
      `the AWS platform needs ${missing.map(([, variable]) => variable).join(", ")}`,
      "the outputs of the scanner stack name them all (docs/run-on-aws.md)",
    );
  }
  return {
    ...awsServices(settings),
    stackName: settings.scannerStackName,
    queueUrl: settings.awsQueueUrl,
    deadLettersUrl: settings.awsDeadLettersUrl,
    tableName: settings.awsTable,
    topicArn: settings.awsTopicArn,
    busName: settings.awsEventBus,
    signingSecret: settings.awsSigningSecret || `scanner/${settings.scannerStackName}/callback-signing-key`,
    sealingSecret: settings.awsSealingSecret || `scanner/${settings.scannerStackName}/job-sealing-key`,
    now: parts.now,
    checks: {
      object: parts.problemWith,
      download: (url) => problemOf(parts.guard.checkUrl(url)),
      callback: (url) => problemOf(parts.callbackGuard.checkUrl(url)),
      allowHttpCallbacks: settings.allowHttpCallbacks,
      allowDownloads: settings.downloads,
    },
  };
}

function problemOf(checked: ReturnType<AddressGuard["checkUrl"]>): string | undefined {
  return checked.kind === "allowed" ? undefined : checked.message;
}

/** Where the services are. */
export function awsServices(settings: Settings): { endpoint?: string } {
  return settings.awsEndpoint === "" ? {} : { endpoint: settings.awsEndpoint };
}
