import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type TestClamd, testClamd } from "../../../test/support/clamd.ts";
import { eicar } from "../../../test/support/eicar.ts";
import { fakeClamd } from "../../../test/support/fake-clamd.ts";
import "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import { TAR_MEMBERS, tooDeepCanary } from "./canary-files.ts";
import { type Clamd, clamd } from "./clamd.ts";
import type { ShownMember } from "./show-members.ts";

const never = new AbortController().signal;
const clean = { kind: "clean" };

/** Known by its hash only: nobody finds it in something that merely contains it. */
const known = Buffer.from("a payload that is known by its hash, and in no other way");
const knownLarge = Buffer.alloc(300_000, "another payload that is known by its hash");
const hash = (content: Buffer, name: string): string =>
  `${createHash("sha256").update(content).digest("hex")}:${content.length}:${name}\n`;
const hex = (text: string): string => Buffer.from(text).toString("hex");
const signatures = {
  "eicar.ndb": readFileSync(fileURLToPath(new URL("../../../signatures/lazaret-test.ndb", import.meta.url)), "utf8"),
  "known.hsb": hash(known, "Known.By.Hash") + hash(knownLarge, "Known.Large"),
  "logical.ldb": `Logical.Both;Target:0;0&1;${hex("the first of two halves")};${hex("the second of two halves")}\n`,
};

function engineAt(path: string): Clamd & AsyncDisposable {
  const engine = clamd({ address: { kind: "unix", path }, concurrency: 2 });
  return Object.assign(engine, { [Symbol.asyncDispose]: () => engine.close() });
}

function harmless(count: number, bytes = 100): Buffer[] {
  return Array.from({ length: count }, (_, index) => Buffer.alloc(bytes, `harmless ${index} `));
}

/** The same member, read piece by piece. */
function streamed(content: Buffer, size = content.length): ShownMember {
  return {
    size,
    async *read() {
      for (let at = 0; at < content.length; at += 10_000) yield content.subarray(at, at + 10_000);
    },
  };
}

describe("is shown every member", () => {
  let daemon: TestClamd;
  let engine: Clamd & AsyncDisposable;
  before(async () => {
    daemon = await testClamd({}, { signatures });
    engine = engineAt(daemon.socketPath);
    await engine.health(never);
  });
  after(async () => {
    await engine.close();
    await daemon[Symbol.asyncDispose]();
  });

  test("no members, and empty ones, are clean", async () => {
    assert.deepEqual(await engine.show([], never), clean);
    assert.deepEqual(await engine.show([Buffer.alloc(0), streamed(Buffer.alloc(0))], never), clean);
  });

  test("members of all sizes are clean together", async () => {
    const sizes = [1, 511, 512, 513, 16_384, 16_385, 65_536, 1_000_000];
    const members = sizes.flatMap((size) => harmless(3, size));
    assert.deepEqual(await engine.show([...members, ...members.map((member) => streamed(member))], never), clean);
  });

  test("behind one that makes what they are sent in look like a disk", async () => {
    const verdict = await engine.show([Buffer.from("EFI PART, as disks have it"), known], never);
    assert.deepEqual(verdict, { kind: "infected", finding: "Known.By.Hash", index: 1 });
  });

  test("thousands of small members are clean together", async () => {
    assert.deepEqual(await engine.show(harmless(3_000), never), clean);
  });

  const places = [0, 1, TAR_MEMBERS - 1, TAR_MEMBERS, 777, 999];
  for (const index of places) {
    test(`one that is known by its hash is found at ${index} of 1,000, in memory or not`, async () => {
      const cases: [member: ShownMember, finding: string][] = [
        [known, "Known.By.Hash"],
        [streamed(known), "Known.By.Hash"],
        [knownLarge, "Known.Large"],
        [streamed(knownLarge), "Known.Large"],
      ];
      for (const [member, finding] of cases) {
        const members: ShownMember[] = harmless(1_000);
        members[index] = member;
        assert.deepEqual(await engine.show(members, never), { kind: "infected", finding, index });
      }
    });
  }

  test("two halves of a signature in two members are no finding, and in one they are", async () => {
    const halves = ["the first of two halves", "the second of two halves"].map((half) => Buffer.from(half));
    assert.deepEqual(await engine.show(halves, never), clean);
    assert.deepEqual(await engine.show([...halves, known], never), {
      kind: "infected",
      finding: "Known.By.Hash",
      index: 2,
    });
    const both = Buffer.concat(halves);
    assert.deepEqual(await engine.show([...harmless(3), both], never), {
      kind: "infected",
      finding: "Logical.Both",
      index: 3,
    });
  });

  test("one that cannot be scanned is named, and an infected one goes before it", async () => {
    const members = [...harmless(5), tooDeepCanary(), ...harmless(5), tooDeepCanary()];
    assert.deepEqual(await engine.show(members, never), {
      kind: "unscannable",
      finding: "Heuristics.Limits.Exceeded.MaxRecursion",
      index: 5,
    });
    assert.deepEqual(await engine.show([...members, known], never), {
      kind: "infected",
      finding: "Known.By.Hash",
      index: 12,
    });
  });

  test("shows at the same time do not mix", async () => {
    const shows = Array.from({ length: 10 }, (_, index) => {
      const members = harmless(300);
      if (index % 2 === 1) members[index * 10] = known;
      return engine.show(members, never);
    });
    const found = (await Promise.all(shows)).map((verdict) => (verdict.kind === "infected" ? verdict.index : -1));
    assert.deepEqual(found, [-1, 10, -1, 30, -1, 50, -1, 70, -1, 90]);
  });

  test("whole files that are held open do not keep members waiting", async () => {
    const release = Promise.withResolvers<void>();
    async function* held(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("all bytes but no end");
      await release.promise;
    }
    const scans = [engine.scan(held(), never), engine.scan(held(), never), engine.scan(held(), never)];
    assert.equal((await engine.show([...harmless(3), eicar()], never)).kind, "infected");
    assert.deepEqual(await engine.show(harmless(3), never), clean);
    release.resolve();
    assert.deepEqual(await Promise.all(scans), [clean, clean, clean]);
  });

  test("a member with more or fewer bytes than announced is never clean", async () => {
    for (const size of [9_999, 10_001, 29_999, 30_001]) {
      const content = Buffer.alloc(size < 20_000 ? 10_000 : 30_000);
      await assert.rejects(engine.show([...harmless(2), streamed(content, size)], never), /were announced/);
    }
    assert.deepEqual(await engine.show(harmless(2), never), clean);
  });

  test("an error of a member's source ends it with that error", async () => {
    const broken: ShownMember = {
      size: 100_000,
      async *read() {
        yield Buffer.alloc(50_000);
        throw new Error("the source broke");
      },
    };
    await assert.rejects(engine.show([...harmless(300), broken], never), /the source broke/);
    assert.deepEqual(await engine.show(harmless(2), never), clean);
  });

  test("it ends at once when given up, and the next is not disturbed", async () => {
    const stop = new AbortController();
    const hanging: ShownMember = {
      size: 100_000,
      async *read() {
        yield Buffer.alloc(50_000);
        stop.abort(new Error("given up"));
        await new Promise(() => {});
      },
    };
    await assert.rejects(engine.show([...harmless(300), hanging], stop.signal), /given up/);
    await assert.rejects(engine.show(harmless(3), stop.signal), /given up/);
    assert.deepEqual(await engine.show(harmless(2), never), clean);
  });

  test("all of it is sent, each member to its end", async () => {
    const members = [...harmless(20, 2_000_000), ...harmless(500, 1_000)];
    await using counter = await countingProxy(daemon.socketPath, join(daemon.folder, "counted.sock"));
    await using counted = engineAt(counter.path);
    await counted.health(never);
    const before = counter.bytes;
    assert.deepEqual(await counted.show(members, never), clean);
    const total = members.reduce((sum, member) => sum + member.length, 0);
    assert.ok(counter.bytes - before >= total);
  });
});

describe("with a clamd in trouble no member is clean", () => {
  test("when it dies in the middle", async () => {
    await using daemon = await testClamd({}, { signatures });
    await using engine = engineAt(daemon.socketPath);
    await engine.health(never);
    const killed = Promise.withResolvers<void>();
    const deadly: ShownMember = {
      size: 100_000,
      async *read() {
        yield Buffer.alloc(50_000);
        killed.resolve(daemon.kill());
        await killed.promise;
        yield Buffer.alloc(50_000);
      },
    };
    await assert.rejects(engine.show([...harmless(600), deadly, ...harmless(600)], never), EngineUnavailable);
    await assert.rejects(engine.show(harmless(1), never), EngineUnavailable);
    await daemon.start();
    await until("it works again", () =>
      engine.show(harmless(3), never).then(
        () => true,
        () => false,
      ),
    );
  });

  test("when it is not there", async () => {
    await using engine = engineAt("/nowhere/clamd.sock");
    await assert.rejects(engine.show(harmless(3), never), EngineUnavailable);
    await assert.rejects(engine.show([], never), EngineUnavailable);
  });

  test("when the engine is closed", async () => {
    const engine = engineAt("/nowhere/clamd.sock");
    await engine.close();
    await assert.rejects(engine.show(harmless(3), never), EngineUnavailable);
  });
});

interface CountingProxy extends AsyncDisposable {
  path: string;
  readonly bytes: number;
}

/** A socket that leads to clamd's, and counts what goes there. */
async function countingProxy(target: string, path: string): Promise<CountingProxy> {
  let bytes = 0;
  const server = createServer((client) => {
    const upstream = connect(target);
    client.on("data", (data) => {
      bytes += data.length;
    });
    for (const socket of [client, upstream]) {
      socket.on("error", () => {});
      socket.on("close", () => [client, upstream].map((each) => each.destroy()));
    }
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    path,
    get bytes() {
      return bytes;
    },
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

for (const reply of ["8: INSTREAM size limit exceeded. ERROR\0", "stream: went wrong ERROR\0"]) {
  test(`a session that ends with ${JSON.stringify(reply)} has failed while it looked, whichever member that was about`, async () => {
    await using fake = await fakeClamd((socket, { number }) => number === 8 && socket.end(reply));
    const engine = clamd({ address: fake.address, concurrency: 1, temporaryDir: tmpdir() });
    await using _ = { [Symbol.asyncDispose]: () => engine.close() };
    const members = Array.from({ length: 8 }, (__, index) => Buffer.alloc(20_000, `hello ${index}`));
    await assert.rejects(engine.show(members, never), { whileScanning: true });
  });
}
