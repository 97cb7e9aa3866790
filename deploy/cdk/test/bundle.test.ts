import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { temporaryFolder } from "../../../packages/server/test/support/leftovers.ts";
import { httpServer } from "../../../packages/server/test/support/loopback-server.ts";
import { bundleFunction, HANDLER } from "../bundle-function.ts";

const event = {
  version: "2.0",
  rawPath: "/api/v1/test",
  rawQueryString: "",
  headers: { host: "api.example.com", authorization: "Bearer a-good-key-to-try" },
  requestContext: { stage: "$default", http: { method: "GET" } },
};

/** Asks for nothing that is not in the folder, and of AWS only for the keys in its table. */
const env = {
  AWS_REGION: "eu-west-1",
  AWS_ACCESS_KEY_ID: "AKIDOFTHETESTS",
  AWS_SECRET_ACCESS_KEY: "secret-of-the-tests",
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
  await using table = await httpServer((_, response) => {
    response.writeHead(200, { "content-type": "application/x-amz-json-1.0" }).end("{}");
  });
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
    env: { ...env, LAZARET_AWS_ENDPOINT: `http://127.0.0.1:${table.port}` },
    cwd: folder.path,
  });
  assert.equal(stdout, "204");
});
