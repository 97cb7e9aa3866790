import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { before, describe, test } from "node:test";
import type { Settings } from "../../src/settings.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { onFleet } from "../support/fleet.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { testPostgres } from "../support/postgres.ts";
import { type TestService, testKey, testService } from "../support/service.ts";
import { tenantKey } from "../support/tenant-key.ts";
import { until } from "../support/until.ts";

const single = tenantKey("single");
const FLOOD = 300;
const WORKERS = 2;
/** Jobs that were taken and have not begun to download when the single one comes, and as many taken at that moment. */
const UNDER_WAY = 2 * (WORKERS + 1);

let clamd: TestClamd;
let files: FileServer;
before(async () => {
  clamd = await testClamd();
  files = await fileServer({
    "/single": (_, response) => response.end("one file"),
    // So that the flood is not over before the single jobs have come.
    "/flood": (_, response) => void setTimeout(() => response.end("one of many"), 10),
  });
});
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => files[Symbol.asyncDispose]());

async function submit(service: TestService, key: string, [path, traceId]: [string, string]): Promise<void> {
  const response = await service.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify({ download_url: `${files.origin}${path}`, trace_id: traceId }),
  });
  assert.ok([201, 204].includes(response.status), `${response.status}`);
}

/** Waiting jobs of one tenant, put in while nobody works; then single ones of another. */
async function singlesInAFlood(settings: Partial<Settings>): Promise<void> {
  using folder = temporaryFolder();
  const given = { clamd: `unix:${clamd.socketPath}`, workers: WORKERS, dataDir: folder.path, ...settings };
  {
    await using api = await testService({ ...given, role: "api" });
    const numbers = Array.from({ length: FLOOD }, (_, number) => number);
    await Promise.all(numbers.map((number) => submit(api, testKey, ["/flood", `flood-${number}`])));
  }
  const floodBefore = count("/flood");
  await using service = await testService(given, {}, { tenantKeys: [single] });
  for (const number of [1, 2, 3]) {
    const before = files.asked.length;
    await submit(service, single.secret, ["/single", `single-${number}`]);
    const acknowledged = files.asked.length;
    await until("it is fetched", () => files.asked.includes("/single", before));
    const passed = files.asked.indexOf("/single", before) - acknowledged;
    assert.ok(passed <= UNDER_WAY, `${passed} jobs of the flood came before the single one`);
    assert.ok(count("/flood") - floodBefore < FLOOD, "the flood was over, and nothing is shown");
  }
}

const count = (path: string): number => files.asked.filter((asked) => asked === path).length;

describe("a single job of another tenant is next, however many one tenant has waiting", {
  skip: onFleet && "it counts what one worker does",
}, () => {
  test("on the embedded platform", () => singlesInAFlood({}));

  test("on PostgreSQL", async () => {
    await using postgres = await testPostgres();
    const secretKey = randomBytes(32).toString("hex");
    await singlesInAFlood({ platform: "postgres", postgresUrl: postgres.url, secretKey });
  });
});
