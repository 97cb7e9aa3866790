import { parseVersion } from "@lazaret/contract";
import { parseClamdAddress } from "./engines/clamd/address.ts";
import { allowedHostProblem, networkProblem } from "./fetch/address-guard.ts";
import { logLevels } from "./log.ts";
import { choice, list, path, setting, text, wholeNumber, yesOrNo } from "./settings/setting.ts";

/**
 * Every setting, once: validation, documentation, masking and `lazaret config` read this table. The environment
 * variable is LAZARET_ and the name in capitals (`dataDir` → LAZARET_DATA_DIR), the flag the name with dashes.
 */
export const settingsTable = {
  apiKeys: setting({
    doc: "Accepted bearer secrets, comma-separated (the spec's ApiKeys). `serve` needs at least one.",
    parse: list((key) => (/^[\x21-\x7e]{8,512}$/.test(key) ? undefined : "a key has 8 to 512 visible characters")),
    default: "",
    secret: true,
  }),
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
    parse: text,
    default: "0.0.0.0",
  }),
  dataDir: setting({ doc: "Folder for everything that must survive a restart.", parse: path, default: "./data" }),
  engine: setting({
    doc: "`P` tells the real file type and scans with built-in rules, and with clamd where there is one; `Q` is clamd alone.",
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
    doc: "Where clamd listens: `unix:/path`, `tcp://host:port`, `auto` (the usual sockets) or `none`.",
    parse: (value) => {
      if (value === "auto" || value === "none" || parseClamdAddress(value)) return { value };
      return { problem: "must be unix:/path, tcp://host:port, auto or none" };
    },
    default: "auto",
  }),
  rulesDir: setting({
    doc: "Folder with .yar files of your own, for engine P; watched, and reloaded when it changes.",
    parse: path,
    default: "",
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
  concurrency: setting({
    doc: "Files scanned at once by the synchronous API; 0 takes the spec's number (Q: 4, P: vCPUs × 8).",
    parse: wholeNumber(0, 1024),
    default: "0",
  }),
  waitingLine: setting({
    doc: "Requests that may wait for a slot; 0 takes 16 for each file scanned at once.",
    parse: wholeNumber(0, 100_000),
    default: "0",
  }),
  workers: setting({
    doc: "Queued jobs fetched and scanned at once; 0 takes the same number as concurrency.",
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
    doc: "Emit results as events (the spec's ReportEventBus), to events.jsonl in the data folder.",
    parse: yesOrNo,
    default: "false",
  }),
  bucketsDir: setting({
    doc: "Folder with a folder for each bucket; empty takes `buckets` in the data folder. Not used with s3Endpoint.",
    parse: path,
    default: "",
  }),
  s3Endpoint: setting({
    doc: "Address of an S3-compatible object storage, as https://host; credentials and region as the AWS SDK finds them.",
    parse: (value) =>
      value === "" || /^https?:$/.test(URL.parse(value)?.protocol ?? "")
        ? { value }
        : { problem: "must be an http or https address" },
    default: "",
  }),
  publicUrl: setting({
    doc: "Address under which clients reach this service; part of links to objects. Empty takes this machine's loopback.",
    parse: (value) =>
      value === "" || /^https?:$/.test(URL.parse(value)?.protocol ?? "")
        ? { value: value.replace(/\/+$/, "") }
        : { problem: "must be an http or https address" },
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
    doc: "Tell the findings topic of clean objects too.",
    parse: yesOrNo,
    default: "true",
  }),
  scannerStackName: setting({
    doc: "Name of this installation (the spec's ScannerStackName): part of the names of its public keys.",
    parse: (value) =>
      /^[A-Za-z0-9][\w.-]{0,127}$/.test(value)
        ? { value }
        : { problem: "must begin with a letter or digit and go on with letters, digits, dots, dashes or underscores" },
    default: "lazaret",
  }),
  tlsCert: setting({
    doc: "PEM file with the certificate chain; with tlsKey, the API speaks HTTPS.",
    parse: path,
    default: "",
  }),
  tlsKey: setting({ doc: "PEM file with the certificate's private key.", parse: path, default: "" }),
  logLevel: setting({
    doc: "`info` logs a line for each request, `error` only what went wrong, `silent` nothing.",
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
