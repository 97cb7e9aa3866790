import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { httpsServer } from "../../test/support/loopback-server.ts";
import { selfSigned } from "../../test/support/self-signed.ts";
import { cutExporter } from "./exporter.ts";

test("a collector is believed by the certificate that is named, and sees the one we are to show", async () => {
  using folder = temporaryFolder();
  const [collector, client] = [selfSigned("IP:127.0.0.1"), selfSigned("DNS:lazaret.test")];
  const identity = { ...collector, ca: client.cert, requestCert: true };
  let asked = 0;
  await using server = await httpsServer(identity, (request, response) => {
    asked += 1;
    request.resume().once("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
  });
  const file = (name: string, content: string): string => {
    const path = join(folder.path, name);
    writeFileSync(path, content);
    return path;
  };
  const believed = { OTEL_EXPORTER_OTLP_CERTIFICATE: file("collector.pem", collector.cert) };
  const shown = {
    OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE: file("client.pem", client.cert),
    OTEL_EXPORTER_OTLP_CLIENT_KEY: file("client-key.pem", client.key),
  };

  async function isTaken(files: Record<string, string>): Promise<boolean> {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `https://127.0.0.1:${server.port}`, OTEL_EXPORTER_OTLP_TIMEOUT: "3000" };
    const given = { ...env, ...files };
    Object.assign(process.env, given);
    const { exporter, cut } = await cutExporter("http/json");
    try {
      return await new Promise((resolve) => exporter.export([], ({ code }) => resolve(code === 0)));
    } finally {
      cut();
      for (const name of Object.keys(given)) delete process.env[name];
    }
  }

  assert.equal(await isTaken(shown), false, "nobody has said whom to believe");
  assert.equal(await isTaken(believed), false, "it wants to know who we are");
  assert.equal(asked, 0);
  assert.equal(await isTaken({ ...believed, ...shown }), true);
  assert.equal(asked, 1);
});
