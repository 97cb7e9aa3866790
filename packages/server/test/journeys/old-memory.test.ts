import assert from "node:assert/strict";
import { test } from "node:test";
import { anyEngineInEnvironment } from "../support/clamd.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { httpServer } from "../support/loopback-server.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { until } from "../support/until.ts";

const KEY = "a-key-for-old-memory";
const AT_ONCE = 16;
/** Until what is asked often is compiled; and while it is watched. */
const TO_BEGIN_WITH = 800;
const WATCHED = 1200;
/** Has V8 say what it collects, and collect everything when it is told to. */
const FLAGS = ["--trace-gc-nvp", "--expose-gc", "--import", 'data:text/javascript,process.on("SIGUSR2",()=>gc())'];
const FILE = Buffer.alloc(4096, "a file with nothing in it. ");

/** A few at a time, over connections that are kept. */
async function post(port: string, path: string, type: string, body: string | Buffer, count: number): Promise<void> {
  const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": type };
  let begun = 0;
  const oneByOne = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`, { method: "POST", headers, body });
      const text = await response.text();
      assert.ok(response.status === 204 || text.includes('"clean"'), text);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, oneByOne));
}

interface Collection {
  kind: string;
  /** Bytes that became old. */
  promoted: number;
}

/** Those of the thread that takes requests, which is the first to collect anything. */
function collections({ stdout }: CliRun): Collection[] {
  const all = [...stdout.matchAll(/^\[\d+:(\S+?)(?::\d+)?\].* gc=(\w+) .* promoted=(\d+) /gm)];
  return all
    .filter(([, thread]) => thread === all[0]?.[1])
    .map(([, , kind = "", promoted]) => ({ kind, promoted: Number(promoted) }));
}

/** How many bytes become old of each, in a service that has been at it for a while. */
async function becomesOld(
  settings: Record<string, string>,
  send: (port: string, count: number) => Promise<void>,
): Promise<number> {
  using folder = temporaryFolder();
  const env = { LAZARET_API_KEYS: KEY, LAZARET_PORT: "0", LAZARET_PROCESSES: "1", LAZARET_VERDICT_CACHE: "0" };
  await using run = runCli(["serve"], {
    cwd: folder.path,
    flags: FLAGS,
    env: { ...(await anyEngineInEnvironment()), ...env, ...settings },
  });
  const [, port = ""] = await run.says(/"event":"listening".*"port":(\d+)/);
  await send(port, TO_BEGIN_WITH);
  // All that lives for long is old from here on, and points to what it gets.
  run.child.kill("SIGUSR2");
  await until("everything is collected", () => collections(run).some(({ kind }) => kind !== "s"));
  const before = collections(run).length;
  await send(port, WATCHED);
  const since = collections(run).slice(before);
  assert.ok(since.length > 5, `only ${since.length} collections: too few to tell`);
  return since.reduce((sum, { promoted }) => sum + promoted, 0) / WATCHED;
}

// All that a scan makes has some 40 KB. What may become old is what the console shows of the last ones.
test("of a scan hardly anything becomes old memory, however many are under way", async () => {
  const send = (port: string, count: number): Promise<void> =>
    post(port, "scan/sync/binary", "application/octet-stream", FILE, count);
  const bytes = await becomesOld({}, send);
  assert.ok(bytes < 1500, `${bytes} bytes of each scan`);
});

// …and of a job 160 KB.
test("of a job neither, while others wait for their files and for their receivers", async () => {
  let called = 0;
  await using elsewhere = await httpServer((request, response) => {
    if (request.method === "GET") return void response.end(FILE);
    request.resume().on("end", () => {
      called += 1;
      response.writeHead(204).end();
    });
  });
  const link = `http://127.0.0.1:${elsewhere.port}/`;
  const job = JSON.stringify({ download_url: link, callback_url: link });
  const send = async (port: string, count: number): Promise<void> => {
    const before = called;
    await post(port, "scan/async/download", "application/json", job, count);
    await until("all are called back", () => called >= before + count);
  };
  const loopback = "127.0.0.0/8";
  const bytes = await becomesOld(
    {
      LAZARET_ALLOW_NETWORKS: loopback,
      LAZARET_ALLOW_CALLBACK_NETWORKS: loopback,
      LAZARET_ALLOW_HTTP_CALLBACKS: "true",
      LAZARET_WORKERS: "16",
    },
    send,
  );
  assert.ok(bytes < 900, `${bytes} bytes of each job`);
});
