import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { openJobStore } from "../packages/server/src/platforms/embedded/job-store.ts";
import { FULL, PARTS, parseArguments, QUICK } from "./arguments.ts";
import { ceilingOfHalf, ceilingWith, digestMs, mostPerSecond } from "./ceilings.ts";
import { type Load, run } from "./load.ts";
import { cpuSeconds } from "./processes.ts";
import { alternate, costsOf, middle, type Rounds, ratios, ratiosByCpu, type Sample } from "./rounds.ts";
import { halfSeen, SEEN_FILES, sample } from "./sample.ts";
import { startFloor, startProgram } from "./services.ts";
import { coresFor, perCore } from "./sizing.ts";
import { median } from "./table.ts";
import { allReached, judge, type Target, targetsTable } from "./targets.ts";

describe("the arguments of the bench", () => {
  it("are none for all parts, --quick for the targets alone and --only for one part", () => {
    assert.deepEqual(parseArguments([]), { parts: PARTS, pace: FULL, strict: false });
    assert.deepEqual(parseArguments(["--quick"]), { parts: ["targets"], pace: QUICK, strict: false });
    assert.deepEqual(parseArguments(["--only", "mix"]), { parts: ["mix"], pace: FULL, strict: false });
    assert.deepEqual(parseArguments(["--quick", "--only", "scan"]), { parts: ["scan"], pace: QUICK, strict: false });
    const ownSignatures = { parts: ["sizing"], pace: FULL, strict: false, signaturesDir: "/var/lib/clamav" };
    assert.deepEqual(parseArguments(["--only", "sizing", "--signatures", "/var/lib/clamav"]), ownSignatures);
    assert.deepEqual(parseArguments(["--quick", "--strict"]), { parts: ["targets"], pace: QUICK, strict: true });
  });

  it("are refused when they make no sense", () => {
    assert.match(String(parseArguments(["--only", "everything"])), /no benchmark everything/);
    assert.match(String(parseArguments(["--fast"])), /--fast/);
    assert.match(String(parseArguments(["--strict", "--only", "mix"])), /--strict/);
  });

  it("never ask for fewer than five rounds", () => {
    assert.deepEqual(
      [FULL, QUICK].filter((pace) => Math.min(pace.rounds, pace.smallRounds, pace.jobRounds, pace.waitingRounds) < 5),
      [],
    );
  });
});

describe("rounds", () => {
  const at = (perSecond: number, cost = 1): Sample => ({
    perSecond,
    p50: 1,
    p99: 2,
    cpuMs: cost,
    clamdMs: cost,
    loadMs: cost,
  });

  it("take ratios within a round, so that a slow minute hurts both", () => {
    const rounds: Rounds = new Map([
      ["ours", [at(100), at(10), at(90)]],
      ["theirs", [at(50), at(5), at(100)]],
    ]);
    assert.deepEqual(ratios(rounds, ["ours", "theirs"], "perSecond"), [2, 2, 0.9]);
    assert.equal(median(ratios(rounds, ["ours", "theirs"], "perSecond")), 2);
    assert.equal(middle(rounds, "ours", "perSecond"), 90);
  });

  it("compare what was spent, too: half of the cost would be twice as fast", () => {
    const rounds: Rounds = new Map([
      ["ours", [at(1, 1)]],
      ["theirs", [at(1, 2)]],
    ]);
    assert.deepEqual(ratiosByCpu(rounds, ["ours", "theirs"]), [2]);
    assert.deepEqual(costsOf(rounds, "theirs"), { cpuMs: 2, clamdMs: 2, loadMs: 2 });
  });

  it("have each contestant once, and each time another one first", async () => {
    const order: string[] = [];
    const contestants = ["a", "b", "c"].map((name) => ({ name, pids: [process.pid] }));
    const rounds = await alternate(contestants, {
      rounds: 3,
      async work({ name }) {
        order.push(name);
        return { requests: 10, seconds: 2, latencies: [1, 2, 3] };
      },
    });
    assert.equal(order.join(""), "abcbcacab");
    assert.deepEqual(
      rounds.get("b")?.map(({ perSecond, p50 }) => [perSecond, p50]),
      [
        [5, 2],
        [5, 2],
        [5, 2],
      ],
    );
  });
});

describe("ceilings", () => {
  const empty = { cpuMs: 0.3, clamdMs: 0, loadMs: 0.2 };

  it("are what all cores together allow", () => {
    assert.equal(mostPerSecond({ cpuMs: 1, clamdMs: 2, loadMs: 1 }, 2), 500);
  });

  it("are never above what one thread can send", () => {
    assert.equal(mostPerSecond({ cpuMs: 0.1, clamdMs: 0, loadMs: 0.5 }, 64), 2000);
  });

  it("of a cache for half of the files are twice at most, and nothing where a scan costs nothing", () => {
    const scan = { cpuMs: 10, clamdMs: 10, loadMs: 0 };
    const nothing = { cpuMs: 0, clamdMs: 0, loadMs: 0 };
    assert.equal(ceilingOfHalf(scan, { empty: nothing, digestMs: 0 }, 2), 2);
    assert.equal(ceilingOfHalf(empty, { empty, digestMs: 0 }, 2), 1);
    assert.equal(ceilingOfHalf(scan, { empty: nothing, digestMs: 10 }, 2), 1);
    assert.ok(digestMs(sample(1_000_000)) > digestMs(sample(1000)));
  });

  it("of a rate are less by what each takes more, and never above it", () => {
    assert.equal(ceilingWith(1000, 0.001), 0.5);
    assert.equal(ceilingWith(1000, -0.001), 1);
  });
});

describe("the table of the targets", () => {
  const least: Target = { work: "jobs", values: [1.1, 1.3, 1.2], want: { least: 1.2 }, unit: "of BullMQ" };
  const most: Target = { work: "RSS", values: [151], want: { most: 150 }, unit: "MB" };

  it("says whether the median is good enough", () => {
    assert.equal(judge(least), "reached");
    assert.equal(judge({ ...least, want: { least: 1.21 } }), "missed");
    assert.equal(judge(most), "missed");
    assert.equal(judge({ ...most, values: [150.4] }), "reached", "as it is shown: 150");
    assert.equal(judge({ ...least, values: [1.196] }), "reached", "as it is shown: 1.20");
    assert.equal(judge({ ...least, values: [Number.NaN] }), "missed");
  });

  it("excuses only what the ceiling forbids", () => {
    assert.equal(judge({ ...least, want: { least: 1.5 }, ceiling: 1.4 }), "missed, over the ceiling");
    assert.equal(judge({ ...least, want: { least: 1.5 }, ceiling: 1.6 }), "missed");
    assert.equal(judge({ ...most, ceiling: 151 }), "missed, over the ceiling");
    assert.equal(judge({ ...most, ceiling: 20 }), "missed");
    assert.equal(allReached([least, { ...most, ceiling: 151 }]), true);
    assert.equal(allReached([least, most]), false);
  });

  it("has a row for each", () => {
    assert.equal(
      targetsTable([{ ...least, ceiling: 1.5, byCpu: 1.25 }, most]),
      [
        "| work | measured | spread | by CPU | target | ceiling |  |",
        "|---|---|---|---|---|---|---|",
        "| jobs | 1.20 of BullMQ | 1.10–1.30 | 1.25 | ≥ 1.20 of BullMQ | 1.50 | reached |",
        "| RSS | 151 MB |  |  | ≤ 150 MB |  | missed |",
      ].join("\n"),
    );
  });
});

it("a million files a day of 86.4 ms keep one core busy, which does 11.6 in a second", () => {
  assert.equal(coresFor(1_000_000, 86.4), 1);
  assert.equal(perCore(86.4).toFixed(1), "11.6");
});

it("files of which half were seen before: so many once, then every other one new", () => {
  const fileAt = halfSeen(100);
  const text = (index: number): string => Buffer.concat(fileAt(index)).toString("latin1");
  assert.deepEqual(new Set(fileAt(7).map(({ length }) => length)), new Set([84, 16]));
  const seen = new Set(Array.from({ length: SEEN_FILES }, (_, index) => text(index)));
  assert.equal(seen.size, SEEN_FILES);
  const later = Array.from({ length: 1000 }, (_, index) => text(SEEN_FILES + index));
  assert.equal(later.filter((each) => seen.has(each)).length, 500);
  assert.equal(new Set(later.filter((each) => !seen.has(each))).size, 500);
});

describe("the load", () => {
  const load = (port: number): Load => ({
    port,
    path: "/scan",
    contentType: "text/plain",
    body: (index) => [Buffer.from("body "), Buffer.from(String(index))],
    answer: { status: 200, text: '"clean"' },
    connections: 4,
    forMs: Number.POSITIVE_INFINITY,
    atMost: 100,
  });

  it("sends every body once, and counts what was answered", async (t) => {
    const bodies: string[] = [];
    const port = await serve(t, (request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (piece) => {
        body += piece;
      });
      request.on("end", () => {
        bodies.push(body);
        response.end('{"status":"clean"}');
      });
    });
    const { requests, latencies } = await run(load(port));
    assert.equal(requests, 100);
    assert.equal(latencies.length, 100);
    assert.deepEqual(new Set(bodies), new Set(Array.from({ length: 100 }, (_, index) => `body ${index}`)));
  });

  for (const [what, answer] of Object.entries<RequestListener>({
    "another verdict": (_, response) => void response.end('{"status":"infected"}'),
    "another status": (_, response) => void response.writeHead(503).end('{"status":"clean"}'),
    "no answer": (request) => void request.socket.destroy(),
  })) {
    it(`ends with an error at ${what}`, async (t) => {
      const port = await serve(t, answer);
      await assert.rejects(run(load(port)), /unexpected answer|closed|ECONNRESET|EPIPE/);
    });
  }
});

it("the floor answers a submit after it has written it down", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lazaret-floor-"));
  const { measured, port } = await startProgram("floor.ts", ["submit", folder]);
  try {
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "a job" });
    assert.equal(response.status, 204);
    assert.equal(await readFile(join(folder, "submits"), "utf8"), "a job");
    assert.ok(cpuSeconds(measured.child.pid ?? 0) > 0);
  } finally {
    await measured.stop();
    await rm(folder, { recursive: true });
  }
});

it("the floor with the database answers a submit after the job is in it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lazaret-floor-"));
  const { measured, port } = await startFloor("database", folder);
  try {
    const asked = { download_url: "http://127.0.0.1/a", callback_url: "http://127.0.0.1/b", custom_data: "order 1" };
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: JSON.stringify(asked) });
    assert.equal(response.status, 204);
    await measured.stop("SIGKILL");
    const store = await openJobStore(folder);
    const [lease] = await store.queue.take(1);
    assert.deepEqual(
      [lease?.job.source, lease?.job.callback?.url, lease?.job.customData],
      [{ kind: "url", url: asked.download_url, headers: {} }, asked.callback_url, asked.custom_data],
    );
    await store.close();
  } finally {
    await measured.stop();
    await rm(folder, { recursive: true });
  }
});

async function serve(t: TestContext, answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
