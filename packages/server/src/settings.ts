import { parseVersion } from "@lazaret/contract";
import { parseClamdAddress } from "./engines/clamd/address.ts";
import { logLevels } from "./log.ts";
import { allowedHostProblem, networkProblem } from "./net/address-guard.ts";
import { parsePostgresUrl } from "./platforms/postgres/database/postgres-url.ts";
import {
  parseEventTargets,
  parseMailFrom,
  parseSmtpUrl,
  parseSubscriptions,
} from "./platforms/shared/messages/subscriptions.ts";
import { consoleSettings } from "./settings/console-settings.ts";
import { retentionSettings } from "./settings/retention-settings.ts";
import {
  choice,
  hostAddress,
  httpAddress,
  keyList,
  list,
  path,
  setting,
  text,
  wholeNumber,
  yesOrNo,
} from "./settings/setting.ts";
import { signatureSettings } from "./settings/signature-settings.ts";
import { traceSettings } from "./settings/trace-settings.ts";

/**
 * Every setting, once: validation, documentation, masking and `lazaret config` read this table. The environment
 * variable is LAZARET_ and the name in capitals (`dataDir` → LAZARET_DATA_DIR), the flag the name with dashes.
 */
export const settingsTable = {
  apiKeys: setting({
    doc: "Accepted bearer secrets, comma-separated or one per line (the spec's ApiKeys). `serve` needs a key: one of these, one from `lazaret keys create` or one in the tenantsFile. Each has at least 16 characters. If they are in a file, it is read again within 10 seconds of a change.",
    parse: keyList,
    default: "",
    secret: true,
  }),
  ...consoleSettings,
  port: setting({
    doc: "TCP port to listen on; 0 takes any free one.",
    parse: wholeNumber(0, 65_535),
    default: "8040",
  }),
  role: setting({
    doc: "`api` takes requests and runs no jobs, `worker` runs jobs and answers health checks only, `all` does both.",
    parse: choice(["all", "api", "worker"]),
    default: "all",
  }),
  host: setting({
    doc: "Address to listen on. `dev` listens on 127.0.0.1 unless told otherwise.",
    parse: hostAddress,
    default: "0.0.0.0",
  }),
  tenantsFile: setting({
    doc: "JSON or YAML file that declares tenants, their limits and the digests of their keys, for configuration kept in git; read again within 3 seconds of a change (docs/tenants-file.md).",
    parse: path,
    default: "",
  }),
  dataDir: setting({ doc: "Folder for everything that must survive a restart.", parse: path, default: "./data" }),
  platform: setting({
    doc: "`embedded` keeps everything in the data folder; `postgres` in a PostgreSQL database, for a fleet; `aws` uses SQS, DynamoDB, SNS, EventBridge, S3, SSM and Secrets Manager.",
    parse: choice(["embedded", "postgres", "aws"]),
    default: "embedded",
  }),
  postgresUrl: setting({
    doc: "The database, with platform postgres: postgresql://user:password@host:5432/name, `?sslmode=verify-full` for TLS; with standbys a:5432,b:5432 in place of the host, and the one that takes writes is used.",
    parse: (value) => {
      const parsed = value === "" ? { value } : parsePostgresUrl(value);
      return "problem" in parsed ? parsed : { value };
    },
    default: "",
    secret: true,
  }),
  postgresSchema: setting({
    doc: "Schema for our tables in that database.",
    parse: (value) =>
      /^[a-z_][a-z0-9_]{0,54}$/.test(value)
        ? { value }
        : { problem: "must be a name of lower-case letters, digits and underscores, at most 55" },
    default: "lazaret",
  }),
  postgresPool: setting({
    doc: "Most connections of one process to that database; one more listens for notifications.",
    parse: wholeNumber(1, 100),
    default: "4",
  }),
  migrate: setting({
    doc: "`on` brings the schema to this version at the start; with `off` a missing migration is an error, and you run `lazaret migrate` by hand.",
    parse: choice(["on", "off"]),
    default: "on",
  }),
  secretKey: setting({
    doc: "Key that seals what clients sent and sessions of the console, with platform postgres: 64 hex digits (openssl rand -hex 32), the same for all processes. Without it their jobs cannot be read.",
    parse: (value) =>
      /^(?:[0-9a-f]{64})?$/i.test(value) ? { value } : { problem: "must be 64 hex digits: openssl rand -hex 32" },
    default: "",
    secret: true,
  }),
  awsEndpoint: setting({
    doc: "Address of a stand-in for all AWS services, for trying it out; AWS itself when empty.",
    parse: httpAddress,
    default: "",
  }),
  awsQueueUrl: setting({ doc: "SQS queue of the jobs, with platform aws.", parse: text, default: "" }),
  awsDeadLettersUrl: setting({ doc: "SQS queue of the dead letters.", parse: text, default: "" }),
  awsTable: setting({ doc: "DynamoDB table of results and leases.", parse: text, default: "" }),
  awsTopicArn: setting({ doc: "SNS topic of the findings.", parse: text, default: "" }),
  awsEventBus: setting({ doc: "EventBridge bus, by name or ARN.", parse: text, default: "default" }),
  awsApiKeysSecret: setting({
    doc: "Secret in Secrets Manager that holds the API keys, instead of apiKeys; read again every minute.",
    parse: text,
    default: "",
  }),
  awsSigningSecret: setting({
    doc: "Secret in Secrets Manager for the key that signs callbacks; made if missing.",
    parse: text,
    default: "",
  }),
  awsSealingSecret: setting({
    doc: "Secret in Secrets Manager for the key that seals jobs in queue and table; made if missing. Without it they cannot be read.",
    parse: text,
    default: "",
  }),
  engine: setting({
    doc: "`P` reports the real file type and scans with built-in rules, and with clamd where there is one; `Q` is clamd alone.",
    parse: choice(["P", "Q"]),
    default: "P",
  }),
  engineVersion: setting({
    doc: "Version of the engine this installation declares; messages and requests are held to what it had (docs/versions.md).",
    parse: (text) => {
      const value = parseVersion(text);
      return value ? { value } : { problem: "must be three whole numbers, such as 3.4.1" };
    },
    default: "3.4.1",
  }),
  clamd: setting({
    doc: "Where clamd listens: `unix:/path`, `tcp://host:port`, `auto` (the usual sockets, searched until one is there), `own` (the service starts, watches and updates one itself, docs/signatures.md) or `none`.",
    parse: (value) => {
      if (["auto", "own", "none"].includes(value) || parseClamdAddress(value)) return { value };
      return { problem: "must be unix:/path, tcp://host:port, auto, own or none" };
    },
    default: "auto",
  }),
  requireClamd: setting({
    doc: "With `auto`: not ready, and nothing is clean, until clamd is there. With an address this is always so.",
    parse: yesOrNo,
    default: "false",
  }),
  ...signatureSettings,
  rulesDir: setting({
    doc: "Folder with .yar files of your own, for engine P; watched, and reloaded when it changes.",
    parse: path,
    default: "",
  }),
  verdictCache: setting({
    doc: "Number of contents whose verdicts are kept in memory, for as long as nothing that decides them has changed (docs/engines.md); 0 scans every file.",
    parse: wholeNumber(0, 10_000_000),
    default: "50000",
  }),
  packedPrograms: setting({
    doc: "What engine P says about programs packed by a packer that it knows but cannot undo (UPX and the like) and in which it finds nothing else: `no`, or `clean` if you must accept them.",
    parse: choice(["no", "clean"]),
    default: "no",
  }),
  ciphertext: setting({
    doc: "What is said about files that were encrypted by a program we know (age, OpenSSL, KeePass and others, docs/unpacking.md) and in which nothing else is found: `no`, or `clean` if you must store them.",
    parse: choice(["no", "clean"]),
    default: "no",
  }),
  allowNetworks: setting({
    doc: "Networks (CIDR, comma-separated) that downloads may reach although they are not public.",
    parse: list(networkProblem),
    default: "",
  }),
  allowHosts: setting({
    doc: "Hosts (host:port, comma-separated) that downloads may reach although they are not public.",
    parse: list(allowedHostProblem),
    default: "",
  }),
  allowCallbackNetworks: setting({
    doc: "The same for callbacks: networks that receivers are in, although they are not public. `dev` takes allowNetworks unless told otherwise.",
    parse: list(networkProblem),
    default: "",
  }),
  allowCallbackHosts: setting({
    doc: "The same for callbacks: hosts (host:port, comma-separated). `dev` takes allowHosts unless told otherwise.",
    parse: list(allowedHostProblem),
    default: "",
  }),
  concurrency: setting({
    doc: "Files scanned at once by the synchronous API; 0 means the spec's number (Q: 4, P: vCPUs × 8).",
    parse: wholeNumber(0, 1024),
    default: "0",
  }),
  waitingLine: setting({
    doc: "Requests that may wait for a slot; 0 means 16 for each file scanned at once.",
    parse: wholeNumber(0, 100_000),
    default: "0",
  }),
  workers: setting({
    doc: "Queued jobs of one tenant fetched and scanned at once; a further quarter is reserved for other tenants. 0 means the same number as concurrency.",
    parse: wholeNumber(0, 1024),
    default: "0",
  }),
  jobMaxMib: setting({
    doc: "Largest file of a queued job, in MiB. clamd cannot look into more than 2000.",
    parse: wholeNumber(1, 2000),
    default: "2000",
  }),
  jobTimeoutSeconds: setting({
    doc: "Longest time to fetch and scan the file of a queued job; a file that takes longer is `no`, `scanner:timeout`.",
    parse: wholeNumber(1, 86_400),
    default: "600",
  }),
  downloadMinRate: setting({
    doc: "Bytes per second that the source of a queued job must deliver, once the first 256 KiB have arrived, to keep its place; slower downloads are retried, and end as `scanner:download-failed`. 0 accepts any speed.",
    parse: wholeNumber(0, 1_000_000_000),
    default: "4096",
  }),
  deadLetterDays: setting({
    doc: "Days that dead letters are kept; the log warns during the last two. With platform aws the queue's own 14 days apply.",
    parse: wholeNumber(1, 3650),
    default: "14",
  }),
  ...retentionSettings,
  ...traceSettings,
  allowHttpCallbacks: setting({
    doc: "Allow a callback_url that is plain http. `dev` does.",
    parse: yesOrNo,
    default: "false",
  }),
  signCallbackInvocations: setting({
    doc: "Sign callbacks (the spec's SignCallbackInvocations).",
    parse: yesOrNo,
    default: "false",
  }),
  reportEventBus: setting({
    doc: "Emit results as events (the spec's ReportEventBus), to eventTargets.",
    parse: yesOrNo,
    default: "false",
  }),
  downloads: setting({
    doc: "Scan files by their URL. Turn it off where there is no internet access: then only objects and uploads are scanned.",
    parse: yesOrNo,
    default: "true",
  }),
  bucketsDir: setting({
    doc: "Folder with a folder for each bucket; empty means `buckets` in the data folder. Not used with s3Endpoint.",
    parse: path,
    default: "",
  }),
  s3Endpoint: setting({
    doc: "Address of an S3-compatible object storage, as https://host; credentials and region come from where the AWS SDK finds them.",
    parse: httpAddress,
    default: "",
  }),
  publicUrl: setting({
    doc: "Address at which clients reach this service; part of links to objects. Empty means this machine's loopback.",
    parse: httpAddress,
    default: "",
  }),
  deleteInfectedFiles: setting({ doc: "Delete objects that are infected.", parse: yesOrNo, default: "false" }),
  tagFiles: setting({ doc: "Tag objects that were scanned.", parse: yesOrNo, default: "true" }),
  tagKey: setting({
    doc: "Key of that tag; its value is clean, infected or no.",
    parse: (value) =>
      /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,128}$/u.test(value)
        ? { value }
        : { problem: "must be 1 to 128 characters that S3 allows in tags" },
    default: "scanner",
  }),
  reportCleanFiles: setting({
    doc: "Report clean objects to the findings topic too.",
    parse: yesOrNo,
    default: "true",
  }),
  tellTenant: setting({
    doc: "Name the tenant in findings and events, in a field `tenant` that the spec's messages do not have. All subscribers and targets get it.",
    parse: yesOrNo,
    default: "false",
  }),
  subscriptions: setting({
    doc: 'Subscriptions of the findings topic, a JSON list such as [{"protocol":"https","endpoint":"https://…"}] (docs/events.md).',
    parse: parseSubscriptions,
    default: "[]",
    secret: true,
  }),
  eventTargets: setting({
    doc: "Where events go, a JSON list as for subscriptions; used with reportEventBus.",
    parse: parseEventTargets,
    default: '[{"protocol":"file","endpoint":"events.jsonl"}]',
    secret: true,
  }),
  smtpUrl: setting({
    doc: "Mail server for email subscriptions: smtp://user:password@host:587 or smtps://….",
    parse: parseSmtpUrl,
    default: "",
    secret: true,
  }),
  mailFrom: setting({ doc: "Sender of these emails.", parse: parseMailFrom, default: "" }),
  scannerStackName: setting({
    doc: "Name of this installation (the spec's ScannerStackName): part of the names of its public keys.",
    parse: (value) =>
      /^[A-Za-z0-9][\w.-]{0,127}$/.test(value)
        ? { value }
        : { problem: "must begin with a letter or digit and go on with letters, digits, dots, dashes or underscores" },
    default: "lazaret",
  }),
  monthlyQuota: setting({
    doc: "The quota that GET /v1/usage reports to tenants that have no limit on files per month; nothing is refused beyond it.",
    parse: wholeNumber(1, Number.MAX_SAFE_INTEGER),
    default: "1000000000",
  }),
  trustedProxies: setting({
    doc: "Networks (CIDR, comma-separated) of proxies in front of the service, whose X-Forwarded-For is trusted: then the log shows the client's address, and wrong keys are counted against it.",
    parse: list(networkProblem),
    default: "",
  }),
  drainSeconds: setting({
    doc: "How long the service goes on taking requests after SIGTERM, with readiness at 503, so that load balancers take it out first. Then it stops listening; work in progress has 22 seconds from the signal.",
    parse: wholeNumber(0, 20),
    default: "5",
  }),
  tlsCert: setting({
    doc: "PEM file with the certificate chain; with tlsKey, the API speaks HTTPS.",
    parse: path,
    default: "",
  }),
  tlsKey: setting({ doc: "PEM file with the certificate's private key.", parse: path, default: "" }),
  logLevel: setting({
    doc: "`info` logs a line for each request except health checks and /metrics, `debug` for these too, `error` only what went wrong, `silent` nothing.",
    parse: choice(logLevels),
    default: "info",
  }),
};

export type Settings = {
  [Name in keyof typeof settingsTable]: (typeof settingsTable)[Name] extends { parse: (text: string) => infer Parsed }
    ? Extract<Parsed, { value: unknown }>["value"]
    : never;
};
export type SettingName = keyof typeof settingsTable;
