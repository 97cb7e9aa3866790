import { join } from "node:path";
import type { ObjectActions } from "../deliver/object-actions.ts";
import { callbackSigner } from "../deliver/signature.ts";
import type { KeyCare, SigningKeys } from "../deliver/signing-keys.ts";
import type { ObjectLister, ObjectWatcher } from "../fetch/object-lister.ts";
import type { ObjectReader } from "../fetch/object-reader.ts";
import type { Log } from "../log.ts";
import type { ObjectRef } from "../model/source.ts";
import { type AddressGuard, outboundGuards } from "../net/address-guard.ts";
import { guardedConnector } from "../net/guarded-connector.ts";
import type { AwsPlatformOptions } from "../platforms/aws/platform.ts";
import { prepareDataFolder } from "../platforms/embedded/data-folder.ts";
import { folderObjects } from "../platforms/embedded/objects/objects.ts";
import { embeddedPlatform } from "../platforms/embedded/platform.ts";
import { keyFiles } from "../platforms/embedded/signing-keys.ts";
import type { Platform } from "../platforms/platform.ts";
import type { DatabaseState } from "../platforms/postgres/database-state.ts";
import type { DatabaseOptions, JobStoreOptions } from "../platforms/postgres/job-store.ts";
import type { SendingParts } from "../platforms/shared/messages/fan-out.ts";
import { retention } from "../platforms/shared/retention.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { CannotStart } from "./cannot-start.ts";

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
  const sendingWith = async (keys: SigningKeys): Promise<SendingParts | undefined> =>
    settings.role === "api" ? undefined : await sendingParts(settings, keys, { log, now });
  if (settings.platform === "postgres") {
    // Loaded only when used, as is the driver.
    const { postgresPlatform } = await import("../platforms/postgres/platform.ts");
    const receivers = { subscriptions, targets };
    return postgresPlatform({ ...postgresOptions(settings), stackName, now, log, receivers, sending: sendingWith });
  }
  const sending = await sendingWith(keyFiles({ dataDir, stackName }));
  return embeddedPlatform({
    dataDir,
    stackName,
    now,
    log,
    kept: retention(settings),
    fanOut: { subscriptions, targets, sending },
  });
}

async function sendingParts(
  settings: Settings,
  signingKeys: SigningKeys,
  parts: Pick<SendingParts, "log" | "now">,
): Promise<SendingParts> {
  const { dataDir, smtpUrl, mailFrom: from } = settings;
  const keys = settings.signCallbackInvocations ? await signingKeys.load() : undefined;
  return {
    dataDir,
    version,
    ...parts,
    // Receivers are the operator's own choice, so any address will do.
    connector: (signal) => guardedConnector({ guard: { mayDial: () => true } }, signal),
    ...(smtpUrl !== "" && { mail: { smtpUrl, from } }),
    ...(keys && { sign: callbackSigner(keys.privateKey) }),
  };
}

export interface ObjectStore extends ObjectReader, ObjectActions, ObjectLister, Partial<ObjectWatcher> {
  /** The object that a link of ours leads to. Undefined for stores whose links lead elsewhere. */
  checkLink?(pathAndQuery: string): ObjectRef | undefined;
  close(): Promise<void>;
}

export interface ObjectStoreOptions {
  now: () => number;
  /** Where clients reach the API, for links. */
  ownUrl: () => string;
}

/** S3 on AWS or where an endpoint is set, else a folder for each bucket. */
export async function objectStore(settings: Settings, { now, ownUrl }: ObjectStoreOptions): Promise<ObjectStore> {
  const endpoint = settings.s3Endpoint || (settings.platform === "aws" ? settings.awsEndpoint : "");
  if (endpoint !== "" || settings.platform === "aws") {
    // Loaded only when used: the SDK is large.
    const { s3Objects } = await import("../platforms/aws/objects/objects.ts");
    return s3Objects(endpoint === "" ? {} : { endpoint, forcePathStyle: true });
  }
  const { secretKey } =
    settings.platform === "postgres" ? postgresOptions(settings) : await prepareDataFolder(settings.dataDir);
  const bucketsDir = settings.bucketsDir || join(settings.dataDir, "buckets");
  return { ...folderObjects({ bucketsDir, linkBase: ownUrl, secretKey, now }), close: async () => {} };
}

/** Throws with all that is missing at once. */
function postgresOptions(settings: Settings): JobStoreOptions {
  const missing = [
    ...(settings.postgresUrl === "" ? ["LAZARET_POSTGRES_URL"] : []),
    ...(settings.secretKey === "" ? ["LAZARET_SECRET_KEY"] : []),
  ];
  if (missing.length > 0) {
    throw new CannotStart(
      `the PostgreSQL platform needs ${missing.join(" and ")}`,
      `${URL_HINT}, and the same LAZARET_SECRET_KEY for all processes: openssl rand -hex 32`,
    );
  }
  return {
    ...databaseOptions(settings),
    secretKey: Buffer.from(settings.secretKey, "hex"),
    migrate: settings.migrate === "on",
    kept: retention(settings),
  };
}

const URL_HINT = "LAZARET_POSTGRES_URL=postgresql://user:password@host/name";

function databaseOptions(settings: Settings): DatabaseOptions {
  return { url: settings.postgresUrl, pool: settings.postgresPool, schema: settings.postgresSchema };
}

/** What commands work on. */
export type OperatorParts = "deadLetters" | "browser" | "history" | "findings" | "access" | "audit";

/** Jobs, dead letters, keys and acts in PostgreSQL, for an operator's eyes. */
export async function postgresOperatorStore(
  settings: Settings,
): Promise<Pick<Platform, OperatorParts> & AsyncDisposable> {
  const { openJobStore } = await import("../platforms/postgres/job-store.ts");
  const store = await openJobStore({ ...postgresOptions(settings), migrate: false });
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}

/** What the database is like, for an operator. */
export async function postgresState(settings: Settings): Promise<DatabaseState> {
  const { databaseState } = await import("../platforms/postgres/database-state.ts");
  return databaseState(postgresOptions(settings));
}

/** The signing keys in PostgreSQL, for an operator's hands. */
export async function postgresOperatorKeys(settings: Settings): Promise<KeyCare & AsyncDisposable> {
  const { openJobStore } = await import("../platforms/postgres/job-store.ts");
  const { postgresKeyCare } = await import("../platforms/postgres/signing-keys.ts");
  const store = await openJobStore({ ...postgresOptions(settings), migrate: false });
  return { ...postgresKeyCare(store, settings.scannerStackName), [Symbol.asyncDispose]: () => store.close() };
}

/** Brings the schema to this version, or only answers what that would do. It opens nothing that is sealed, and so needs no key. */
export async function migratePostgres(
  settings: Settings,
  { dryRun }: { dryRun: boolean },
): Promise<readonly Readonly<Record<"name" | "sql", string>>[]> {
  if (settings.postgresUrl === "")
    throw new CannotStart("the PostgreSQL platform needs LAZARET_POSTGRES_URL", URL_HINT);
  const { migrateDatabase } = await import("../platforms/postgres/job-store.ts");
  return migrateDatabase({ ...databaseOptions(settings), dryRun });
}

const needed = {
  awsQueueUrl: "LAZARET_AWS_QUEUE_URL",
  awsDeadLettersUrl: "LAZARET_AWS_DEAD_LETTERS_URL",
  awsTable: "LAZARET_AWS_TABLE",
  awsTopicArn: "LAZARET_AWS_TOPIC_ARN",
} as const;

/** What the AWS platform is made with. Throws with all that is missing at once. */
function awsOptions(
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
    dataDir: settings.dataDir,
    queueUrl: settings.awsQueueUrl,
    deadLettersUrl: settings.awsDeadLettersUrl,
    tableName: settings.awsTable,
    topicArn: settings.awsTopicArn,
    busName: settings.awsEventBus,
    signingSecret: settings.awsSigningSecret || `scanner/${settings.scannerStackName}/callback-signing-key`,
    sealingSecret: settings.awsSealingSecret || `scanner/${settings.scannerStackName}/job-sealing-key`,
    now: parts.now,
    kept: retention(settings),
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

/** Jobs, dead letters, keys and acts on AWS, for an operator's eyes. */
export async function awsOperatorStore(settings: Settings): Promise<Pick<Platform, OperatorParts> & AsyncDisposable> {
  const { awsPlatform } = await import("../platforms/aws/platform.ts");
  const platform = await awsPlatform(
    awsOptions(settings, { ...outboundGuards(settings), problemWith: () => undefined, now: Date.now }),
  );
  return { ...platform, [Symbol.asyncDispose]: () => platform.close() };
}
