import type { TestChoice } from "./mutant.ts";

const server = (name: string): TestChoice => ({ file: `packages/server/${name}.test.ts` });
const journey = (name: string): TestChoice => server(`test/journeys/${name}`);
const contract = (name: string): TestChoice => ({ file: `packages/contract/src/${name}.test.ts` });

/** By the names of constants. What is not here is asked of the file's list below. */
const byConstant: Readonly<Record<string, readonly TestChoice[]>> = {
  KIB: [journey("async-download"), server("src/receive/body/header-rules")],
  MIB: [journey("sync-upload")],
  SYNC_MAX_FILE_BYTES: [journey("sync-upload")],
  SYNC_TIMEOUT_SECONDS: [journey("engine-trouble")],
  CONCURRENT_REQUESTS_Q: [journey("engine-trouble")],
  CONCURRENT_REQUESTS_P_PER_VCPU: [journey("engine-p")],
  WAITING_PER_SLOT: [journey("engine-trouble"), journey("engine-p")],
  JSON_MAX_BYTES: [journey("sync-download"), journey("lambda")],
  URL_MAX_CHARACTERS: [journey("sync-download")],
  HEADERS_MAX_COUNT: [server("src/receive/body/header-rules"), journey("sync-download")],
  HEADERS_MAX_BYTES: [server("src/receive/body/header-rules"), journey("sync-download")],
  DOWNLOAD_MAX_REDIRECTS: [server("src/fetch/http-download")],
  TRACE_ID_MAX_CHARACTERS: [journey("async-download")],
  CUSTOM_DATA_MAX_BYTES: [journey("async-download")],
  OBJECT_LINK_HOURS: [server("src/compose/object-address")],
  BUCKET_MAX_CHARACTERS: [journey("objects")],
  OBJECT_KEY_MAX_BYTES: [journey("objects"), server("src/platforms/embedded/objects/object-names")],
  OBJECT_VERSION_MAX_CHARACTERS: [journey("objects"), server("src/platforms/embedded/objects/object-names")],
  SIGNATURE_WINDOW_SECONDS: [{ file: "packages/client/src/callback/verifier.test.ts" }],
  RESULT_RETENTION_HOURS: [journey("async-download")],
  CALLBACK_TIMEOUT_SECONDS: [server("src/deliver/callback")],
  CALLBACK_RETRY_SECONDS: [server("src/deliver/retry-policy"), journey("callbacks")],
  CALLBACK_ANSWER_MAX_BYTES: [server("src/deliver/callback/connections")],
  CALLBACKS_PER_ORIGIN: [server("src/deliver/callback")],
  CALLBACK_RETRIES: [journey("callbacks")],
  CALLBACK_REQUEUES: [journey("callbacks")],
  CALLBACK_REQUEUE_SECONDS: [journey("callbacks")],
  DOWNLOAD_RETRIES: [journey("async-download")],
  DOWNLOAD_RETRY_SECONDS: [journey("async-download")],
};

/** By the words of findings. */
const byFinding: Readonly<Record<string, readonly TestChoice[]>> = {
  "too-big": [journey("sync-download")],
  "download-failed": [journey("spec-rows")],
  "callback-failed": [journey("spec-rows")],
  encrypted: [server("src/engines/rules/hostile-files"), server("src/scan/merge-verdicts")],
  "limits-exceeded": [journey("sync-download")],
  "unsupported-archive": [server("src/unpack/walk"), server("src/engines/rules/hostile-files")],
  timeout: [journey("async-download")],
  "engine-error": [server("src/guard/guard-bucket"), server("src/engines/threads/scan-pool")],
  "object-not-found": [server("src/platforms/aws/objects/open-object"), journey("objects")],
  "object-access-denied": [server("src/platforms/aws/objects/open-object")],
};

const byFile: Readonly<Record<string, readonly TestChoice[]>> = {
  "features.ts": [contract("features"), contract("fit-messages")],
  "fit-messages.ts": [contract("fit-messages")],
  "result.ts": [contract("schemas"), journey("reference")],
  "callback.ts": [contract("schemas"), journey("callbacks")],
  "findings-topic.ts": [contract("schemas"), journey("objects")],
  "events.ts": [contract("schemas"), journey("callbacks"), journey("objects")],
  "errors.ts": [contract("schemas"), journey("service")],
  "jobs.ts": [contract("schemas"), journey("async-download"), journey("sync-download"), journey("objects")],
};

/** Who ought to notice a break of the contract, the quickest first. */
export function noticedBy(file: string, breakName: string): readonly TestChoice[] {
  const constant = /\b(?:export )?const ([A-Z_]+)\b/.exec(breakName)?.[1] ?? "";
  const finding = /"scanner:([\w-]+)"/.exec(breakName)?.[1] ?? "";
  const tests = byConstant[constant] ?? byFinding[finding] ?? byFile[file];
  if (!tests) throw new Error(`nobody is said to notice a break of ${file}: add it to mutants/noticed-by.ts`);
  return tests;
}
