import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { temporaryFolder } from "../../../packages/server/test/support/leftovers.ts";
import { bundleFunction, HANDLER } from "../bundle-function.ts";

const event = {
  version: "2.0",
  rawPath: "/api/v1/test",
  rawQueryString: "",
  headers: { host: "api.example.com", authorization: "Bearer a-good-key-to-try" },
  requestContext: { stage: "$default", http: { method: "GET" } },
};

/** Asks for nothing that is not in the folder: a test of the key needs no service of AWS. */
const env = {
  AWS_REGION: "eu-west-1",
  LAZARET_API_KEYS: "a-good-key-to-try",
  LAZARET_AWS_QUEUE_URL: "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs",
  LAZARET_AWS_DEAD_LETTERS_URL: "https://sqs.eu-west-1.amazonaws.com/123456789012/dead-letters",
  LAZARET_AWS_TABLE: "results",
  LAZARET_AWS_TOPIC_ARN: "arn:aws:sns:eu-west-1:123456789012:lazaret-findings",
  LAZARET_LOG_LEVEL: "silent",
};

test("the API's function becomes a folder that runs with no packages beside it", async () => {
  using folder = temporaryFolder();
  await bundleFunction("src/lambda.ts", folder.path);
  const [file = "", name = ""] = HANDLER.split(".");
  const address = pathToFileURL(join(folder.path, `${file}.mjs`)).href;
  const script = `const { ${name} } = await import(${JSON.stringify(address)});
    const { statusCode } = await ${name}(${JSON.stringify(event)});
    process.stdout.write(String(statusCode), () => process.exit());`;
  const args = ["--input-type=module", "-e", script];
  assert.equal(execFileSync(process.execPath, args, { encoding: "utf8", env, cwd: folder.path }), "204");
});
