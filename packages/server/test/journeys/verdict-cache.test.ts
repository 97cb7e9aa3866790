import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { bucketsIn } from "../support/buckets.ts";
import { testClamd } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { fileServer } from "../support/file-server.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { rawHttp } from "../support/raw-http.ts";
import { type TestService, testKey, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

const content = "the same bytes, whichever way they come\n".repeat(20);

test("the same bytes are scanned once, whichever way they come, and the log and the metrics say so", async () => {
  using folder = temporaryFolder();
  const buckets = bucketsIn(join(folder.path, "buckets"));
  await using clamd = await testClamd();
  await using files = await fileServer({
    "/same": (_, response) => response.end(content),
    "/short": (_, response) => response.writeHead(200, { "Content-Length": content.length + 1 }).end(content),
  });
  const settings = { engine: "P", bucketsDir: buckets.path, clamd: `unix:${clamd.socketPath}` } as const;
  await using service = await testService(settings);
  const expected = { status: "clean", size: content.length, realfiletype: "ASCII text" };

  assert.deepEqual(await (await service.scan(content)).json(), expected);
  assert.equal(lastCached(service), undefined);

  const form = new FormData();
  form.append("file", new Blob([content]), "a.txt");
  buckets.put("uploads", "a.txt", content);
  const ways: Record<string, () => Promise<Response>> = {
    binary: () => service.scan(content),
    form: () => service.call("/api/v1/scan/sync/form", { method: "POST", body: form }),
    "other dialect": () =>
      service.call("/v1/scan/sync/binary", {
        method: "POST",
        headers: { "Content-Type": "application/octet-stream" },
        body: content,
      }),
    url: () => post(service, "/api/v1/scan/sync/download", { download_url: `${files.origin}/same` }),
    object: () => post(service, "/api/v1/scan/sync/objstore", { bucket: "uploads", key: "a.txt" }),
  };
  for (const [name, send] of Object.entries(ways)) {
    assert.deepEqual(await (await send()).json(), expected, name);
    assert.equal(lastCached(service), true, name);
  }
  // An object that is another version with the same bytes is tagged as any other.
  buckets.put("uploads", "b.txt", content);
  await post(service, "/api/v1/scan/sync/objstore", { bucket: "uploads", key: "b.txt" });
  assert.equal((await buckets.tagsOf("uploads", "b.txt")).scanner, "clean");

  await post(service, "/api/v1/scan/async/download", { download_url: `${files.origin}/same`, trace_id: "job" });
  await until("the job is done", () => service.lines.some(({ trace_id, verdict }) => trace_id === "job" && !!verdict));
  assert.equal(service.lines.find(({ trace_id }) => trace_id === "job")?.cached, true);

  // Bytes that are not all there are nobody's.
  const short = await post(service, "/api/v1/scan/sync/download", { download_url: `${files.origin}/short` });
  assert.deepEqual([short.status, (await resultIn(short)).status], [200, "no"]);
  assert.equal(lastCached(service), undefined);
  await rawHttp(
    service.port,
    [
      "POST /api/v1/scan/sync/binary HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n",
      `Authorization: Bearer ${testKey}\r\nContent-Length: ${content.length + 9}\r\n\r\n${content}`,
    ],
    { half: true },
  );
  await until("the broken upload is in the log", () =>
    service.lines.some(({ event, status }) => event === "request" && status !== 200 && status !== 201),
  );
  assert.equal(lastCached(service) ?? false, false);

  assert.equal((await resultIn(await service.scan(eicar()))).status, "infected");
  const again = await resultIn(await service.scan(eicar()));
  assert.equal(again.status, "infected");
  assert.equal(lastCached(service), true);
  assert.equal("cached" in again, false);

  const metrics = await (await service.call("/metrics")).text();
  assert.match(metrics, /^lazaret_verdict_cache_hits_total\{part="all"\} 8$/m);
  assert.match(metrics, /^lazaret_verdict_cache_misses_total 2$/m);
  assert.match(metrics, /^lazaret_verdict_cache_entries 2$/m);
  assert.equal((await service.call("/readyz")).ok, true);
});

test("LAZARET_VERDICT_CACHE=0 scans every file", async () => {
  await using clamd = await testClamd();
  await using service = await testService({ clamd: `unix:${clamd.socketPath}`, verdictCache: 0 });
  for (let count = 0; count < 2; count += 1) {
    assert.equal((await resultIn(await service.scan(content))).status, "clean");
    assert.equal(lastCached(service), undefined);
  }
  assert.doesNotMatch(await (await service.call("/metrics")).text(), /verdict_cache/);
});

function post(service: TestService, path: string, body: object): Promise<Response> {
  return service.call(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function resultIn(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>;
}

/** Of the last request that was a scan. */
function lastCached(service: TestService): unknown {
  const last = service.lines.findLast(({ event, verdict }) => event === "request" && verdict !== undefined);
  return last?.cached;
}
