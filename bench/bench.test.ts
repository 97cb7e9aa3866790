import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { parseArguments } from "./arguments.ts";
import { type Load, run } from "./load.ts";
import { alternate, middle, type Rounds, ratioByCpu, ratios, type Sample } from "./rounds.ts";
import { median } from "./table.ts";
import { type Target, targetsTable } from "./targets.ts";

describe("the arguments of the bench", () => {
  it("are none for what has targets, and --only for one part", () => {
    assert.deepEqual(parseArguments([]), { parts: ["scans", "jobs"] });
    const own = ["--only", "mix", "--signatures", "/var/lib/clamav"];
    assert.deepEqual(parseArguments(own), { parts: ["mix"], signaturesDir: "/var/lib/clamav" });
  });

  it("are refused when they make no sense", () => {
    assert.match(String(parseArguments(["--only", "everything"])), /no benchmark everything/);
    assert.match(String(parseArguments(["--fast"])), /--fast/);
  });
});

describe("rounds", () => {
  const at = (perSecond: number, cost = 1): Sample => ({ perSecond, p50: 1, cpuMs: cost, clamdMs: cost, loadMs: cost });

  it("take ratios within a round, so that a slow minute hurts both", () => {
    const rounds: Rounds = new Map([
      ["ours", [at(100), at(10), at(90)]],
      ["theirs", [at(50), at(5), at(100)]],
    ]);
    assert.deepEqual(ratios(rounds, "ours", "theirs"), [2, 2, 0.9]);
    assert.equal(median(ratios(rounds, "ours", "theirs")), 2);
    assert.equal(middle(rounds, "ours", "perSecond"), 90);
  });

  it("compare what was spent, too: half of the cost would be twice as fast", () => {
    const rounds: Rounds = new Map([
      ["ours", [at(1, 1)]],
      ["theirs", [at(1, 2)]],
    ]);
    assert.equal(ratioByCpu(rounds, "ours", "theirs"), 2);
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

it("the table says whether the median is good enough, by the digits that it shows", () => {
  const least: Target = { work: "jobs", values: [1.1, 1.3, 1.196], want: { least: 1.2 }, unit: "of BullMQ" };
  const most: Target = { work: "memory", values: [150.6], want: { most: 150 }, unit: "MB" };
  assert.equal(
    targetsTable([{ ...least, byCpu: 1.25 }, most, { ...most, values: [Number.NaN] }]),
    [
      "| work | measured | spread | by CPU | target |  |",
      "|---|---|---|---|---|---|",
      "| jobs | 1.20 of BullMQ | 1.10–1.30 | 1.25 | ≥ 1.20 | reached |",
      "| memory | 151 MB |  |  | ≤ 150 | missed |",
      "| memory | NaN MB |  |  | ≤ 150 | missed |",
    ].join("\n"),
  );
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

async function serve(t: TestContext, answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
