// npm run test:aws -- --endpoint http://127.0.0.1:4566: the journeys on AWS against a stand-in of your own.
import { fail, installPackages, runOwnNode } from "./setup.mjs";

const at = process.argv.indexOf("--endpoint");
const endpoint = at === -1 ? undefined : process.argv[at + 1];
if (at !== -1 && !URL.canParse(endpoint ?? "")) {
  fail("--endpoint needs an address", "npm run test:aws -- --endpoint http://127.0.0.1:4566");
}
installPackages("all");
const test = "packages/server/test/journeys/aws-endpoint.test.ts";
const env = { ...process.env, ...(endpoint !== undefined && { TEST_AWS_ENDPOINT: endpoint }) };
runOwnNode(["--test", test], env);
