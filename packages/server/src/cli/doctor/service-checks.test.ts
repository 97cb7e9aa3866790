import assert from "node:assert/strict";
import { test } from "node:test";
import "../../../test/support/leftovers.ts";
import { httpsServer } from "../../../test/support/loopback-server.ts";
import { selfSigned } from "../../../test/support/self-signed.ts";
import { serverCheck } from "./service-checks.ts";

test("a server whose certificate is not for this address is not taken for one that is not there", async () => {
  await using server = await httpsServer(selfSigned("DNS:scan.example.com"), (_, response) => void response.end("{}"));
  const { check } = await serverCheck({ url: `https://127.0.0.1:${server.port}`, expected: false });
  assert.equal(check.level, "ok");
  assert.match(check.detail, /^one answers at https:.*, with a certificate that is not good for this address/);
});
