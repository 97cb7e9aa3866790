import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Installation, latestAddOns, latestEngines, type VersionAnswer } from "@lazaret/contract";
import "../../test/support/leftovers.ts";
import { limiter } from "../access/limiter.ts";
import { log } from "../log.ts";
import { version } from "../version.ts";
import { api } from "./api.ts";
import { bearerAuth } from "./bearer-auth.ts";
import { startHttpServer } from "./http/http-server.ts";
import { routes } from "./routes.ts";
import { serviceHandlers, versionHandlers } from "./service-routes.ts";

/** GET /version of such an installation, over HTTP and without a key. */
async function ask(installation: Installation): Promise<VersionAnswer> {
  const service = {
    metrics: async () => ({ open: "", tenants: "" }),
    readiness: async () => ({ ready: true, checks: [] }),
  };
  const handlers = { ...serviceHandlers(service), ...versionHandlers({ version, installation }) };
  const worker = { role: "worker", scans: false, folders: false, console: false, admin: false } as const;
  const server = await startHttpServer({
    host: "127.0.0.1",
    port: 0,
    handle: api({
      routes: routes(worker, handlers, { version }),
      auth: bearerAuth(["key-of-the-tests"]),
      limiter: noLimits,
    }),
    log: log({ level: "silent", format: "json", write() {} }),
  });
  try {
    const response = await fetch(`http://127.0.0.1:${server.port}/version`, { headers: { Connection: "close" } });
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
    return (await response.json()) as VersionAnswer;
  } finally {
    await server.close(1000);
  }
}

const noLimits = limiter({
  count: () => {},
  usedThisMonth: async () => new Map(),
  jobsWaiting: async () => undefined,
  now: Date.now,
  elapsed: () => performance.now(),
});

test("GET /version tells the versions and the features without credentials, as docs/versions.md shows it", async () => {
  const page = readFileSync(new URL("../../../../docs/versions.md", import.meta.url), "utf8");
  const [, shown = "{}"] = /```json\n(\{[\s\S]*?)```/.exec(page) ?? [];
  const answer = await ask({ ...latestAddOns, variant: "P", engineVersion: latestEngines.P });
  assert.equal(answer.version, version);
  assert.deepEqual({ ...answer, version: "…" }, JSON.parse(shown));
  assert.deepEqual(answer.features, answer.features.toSorted());
});

test("GET /version of an older installation leaves out what it lacks", async () => {
  const answer = await ask({ ...latestAddOns, variant: "Q", engineVersion: "2.9.0" });
  assert.deepEqual(answer, {
    version,
    async_add_on: "2.12.0",
    sync_add_on: "2.13.0",
    engine: { variant: "Q", version: "2.9.0" },
    features: ["test", "topic.attribute.finding", "topic.custom_data", "topic.json", "topic.trace_id", "topic.version"],
  });
});
