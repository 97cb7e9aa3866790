import { callbackSigner } from "../deliver/signature.ts";
import type { Log } from "../log.ts";
import type { AddressGuard } from "../net/address-guard.ts";
import { guardedConnector } from "../net/guarded-connector.ts";
import { embeddedPlatform } from "../platforms/embedded/platform.ts";
import { keyFiles } from "../platforms/embedded/signing-keys.ts";
import type { Platform } from "../platforms/platform.ts";
import type { SendingParts } from "../platforms/shared/messages/fan-out.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { awsOptions } from "./aws-settings.ts";
import { CannotStart } from "./cannot-start.ts";
import type { ObjectStore } from "./object-store.ts";

export interface PlatformParts {
  guard: AddressGuard;
  callbackGuard: AddressGuard;
  objects: ObjectStore;
  now: () => number;
}

/** The platform that the settings ask for. */
export async function openPlatform(settings: Settings, log: Log, parts: PlatformParts): Promise<Platform> {
  const { guard, callbackGuard, objects, now } = parts;
  if (settings.platform === "aws") {
    // Loaded only when used: the SDK is large.
    const { awsPlatform } = await import("../platforms/aws/platform.ts");
    return awsPlatform(awsOptions(settings, { guard, callbackGuard, problemWith: objects.problemWith, now }));
  }
  const { dataDir, scannerStackName: stackName, subscriptions, eventTargets: targets } = settings;
  const email = subscriptions.find(({ protocol }) => protocol === "email");
  if (email && (settings.smtpUrl === "" || settings.mailFrom === "")) {
    throw new CannotStart(
      `there is a subscription for ${email.endpoint}, and no mail server`,
      "set LAZARET_SMTP_URL=smtp://user:password@host:587 and LAZARET_MAIL_FROM=scanner@example.com",
    );
  }
  // An api process publishes; whoever works off jobs also sends.
  const sending = settings.role === "api" ? undefined : await sendingParts(settings, log, now);
  return embeddedPlatform({ dataDir, stackName, now, fanOut: { subscriptions, targets, sending } });
}

async function sendingParts(settings: Settings, log: Log, now: () => number): Promise<SendingParts> {
  const { dataDir, scannerStackName: stackName, smtpUrl, mailFrom: from } = settings;
  const keys = settings.signCallbackInvocations ? await keyFiles({ dataDir, stackName }).load() : undefined;
  return {
    dataDir,
    version,
    log,
    now,
    // Receivers are the operator's own choice, so any address will do.
    connector: (signal) => guardedConnector({ guard: { mayDial: () => true } }, signal),
    ...(smtpUrl !== "" && { mail: { smtpUrl, from } }),
    ...(keys && { sign: callbackSigner(keys.privateKey) }),
  };
}
