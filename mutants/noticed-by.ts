import type { TestChoice } from "./mutant.ts";

const server = (name: string, pattern?: string): TestChoice => ({
  file: `packages/server/${name}.test.ts`,
  ...(pattern !== undefined && { pattern }),
});
const journey = (name: string, pattern?: string): TestChoice => server(`test/journeys/${name}`, pattern);
const contract = (name: string): TestChoice => ({ file: `packages/contract/src/${name}.test.ts` });

/** By the names of constants. What is not here is asked of the file's list below. */
const byConstant: Readonly<Record<string, readonly TestChoice[]>> = {
  KIB: [contract("header-rules"), journey("async-download", "custom_data of exactly")],
  MIB: [journey("sync-upload", "200 MB")],
  SYNC_MAX_FILE_BYTES: [journey("sync-upload", "200 MB")],
  SYNC_TIMEOUT_SECONDS: [journey("engine-trouble", "60 seconds")],
  CONCURRENT_REQUESTS_Q: [journey("engine-trouble", "4 files at once")],
  CONCURRENT_REQUESTS_P_PER_VCPU: [journey("engine-p", "for each vCPU")],
  WAITING_PER_SLOT: [journey("engine-trouble", "beyond 16")],
  JSON_MAX_BYTES: [journey("sync-download", "gets 4|accepted"), journey("lambda", "too large")],
  URL_MAX_CHARACTERS: [journey("sync-download", "2,048 characters is taken")],
  HEADERS_MAX_COUNT: [contract("header-rules")],
  HEADERS_MAX_BYTES: [contract("header-rules")],
  DOWNLOAD_MAX_REDIRECTS: [server("src/fetch/http-download")],
  TRACE_ID_MAX_CHARACTERS: [journey("async-download", "256 characters")],
  CUSTOM_DATA_MAX_BYTES: [journey("async-download", "custom_data")],
  OBJECT_LINK_HOURS: [server("src/fetch/object-reader")],
  BUCKET_MAX_CHARACTERS: [server("src/receive/body/submission")],
  OBJECT_KEY_MAX_BYTES: [server("src/receive/body/submission")],
  OBJECT_VERSION_MAX_CHARACTERS: [server("src/receive/body/submission")],
  SIGNATURE_WINDOW_SECONDS: [{ file: "packages/client/src/callback/verifier.test.ts" }],
  RESULT_RETENTION_HOURS: [journey("async-download", "24 hours")],
  CALLBACK_TIMEOUT_SECONDS: [server("src/deliver/callback")],
  CALLBACK_RETRY_SECONDS: [server("src/deliver/callback")],
  CALLBACK_ANSWER_MAX_BYTES: [server("src/net/kept-connections")],
  CALLBACKS_PER_ORIGIN: [server("src/deliver/callback")],
  CALLBACK_RETRIES: [journey("callbacks", "24 POSTs")],
  CALLBACK_REQUEUES: [journey("callbacks", "24 POSTs")],
  CALLBACK_REQUEUE_SECONDS: [journey("callbacks", "24 POSTs")],
  CSRF_HEADER: [journey("console-entrance", "an operator's every act")],
  DOWNLOAD_RETRIES: [journey("async-download", "third retry")],
  DOWNLOAD_RETRY_SECONDS: [journey("async-download", "5, 10 and 15")],
};

/** By the words of findings. */
const byFinding: Readonly<Record<string, readonly TestChoice[]>> = {
  "too-big": [journey("sync-download", "a download of")],
  "download-failed": [journey("spec-rows", "missing")],
  "callback-failed": [journey("spec-rows", "failed callback")],
  encrypted: [server("src/scan/broadcast"), server("src/engines/rules/hostile-files", "encrypted")],
  "limits-exceeded": [journey("sync-download", "a download of")],
  "unsupported-archive": [server("src/unpack/walk"), server("src/engines/rules/hostile-files", "unsupported")],
  timeout: [journey("async-download", "longer than its time")],
  "engine-error": [server("src/guard/guard-bucket"), server("src/engines/threads/scan-pool")],
  "object-not-found": [server("src/platforms/aws/objects/open-object"), journey("objects")],
  "object-access-denied": [server("src/platforms/aws/objects/open-object")],
};

const byFile: Readonly<Record<string, readonly TestChoice[]>> = {
  "features.ts": [contract("features"), contract("fit-messages")],
  "fit-messages.ts": [contract("fit-messages")],
  "result.ts": [contract("schemas")],
  "callback.ts": [contract("schemas"), journey("callbacks", "signed callbacks verify|24 POSTs")],
  "findings-topic.ts": [contract("schemas")],
  "events.ts": [contract("schemas"), journey("spec-rows", "topic|/clean")],
  "errors.ts": [contract("schemas")],
  "field-rules.ts": [contract("field-rules")],
  "header-rules.ts": [contract("header-rules")],
  "jobs.ts": [
    contract("schemas"),
    journey("async-download", "gets 400|custom_data of exactly|an empty body"),
    journey("sync-download", "gets 4"),
    journey("objects", "400"),
  ],
};

/** Who ought to notice a break of the contract, the quickest first. */
export function noticedBy(file: string, breakName: string): readonly TestChoice[] {
  const constant = /\b(?:export )?const ([A-Z_]+)\b/.exec(breakName)?.[1] ?? "";
  const finding = /"scanner:([\w-]+)"/.exec(breakName)?.[1] ?? "";
  const tests = byConstant[constant] ?? byFinding[finding] ?? byFile[file];
  if (!tests) throw new Error(`nobody is said to notice a break of ${file}: add it to mutants/noticed-by.ts`);
  return tests;
}
