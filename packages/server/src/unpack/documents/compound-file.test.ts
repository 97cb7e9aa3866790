import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { compoundFile } from "../../../test/fixtures/compound-writer.ts";
import { noise } from "../../../test/fixtures/corpus/container.ts";
import { type Opened, openContainer } from "../../../test/support/open-container.ts";
import { canaryFiles } from "../../engines/clamd/canary-files.ts";
import { ole } from "./ole.ts";

const FREE = 0xffffffff;
const [long, short, tiny] = [randomBytes(9000), randomBytes(1000), randomBytes(5)];
const streams = [
  { name: "Long", content: long },
  { name: "Storage/Short", content: short },
  { name: "Storage/Inner/\x01Tiny", content: tiny },
];

async function opened(file: Buffer): Promise<Opened> {
  const answer = await openContainer(ole, file);
  assert.ok(answer);
  return answer;
}

const namesOf = ({ members }: Opened): string[] => members.map(({ name }) => name);

describe("the streams of a compound file", () => {
  test("are by the book if its header is", async () => {
    const { members } = await opened(canaryFiles.ole());
    assert.deepEqual(
      members.map(({ way }) => way),
      ["ole"],
    );
  });
  test("come out but are not, if there is something where zeros should be", async () => {
    for (const at of [34, 36, 39]) {
      const file = canaryFiles.ole();
      file[at] = 7;
      const { members } = await opened(file);
      assert.deepEqual(
        members.map(({ way }) => way),
        [undefined],
        String(at),
      );
    }
  });

  test("come out whole, long and short, from any storage, in any order of sectors, in both versions", async () => {
    for (const order of ["forwards", "backwards", "even first"] as const) {
      for (const sectorBytes of [512, 4096] as const) {
        const answer = await opened(compoundFile(streams, { order, sectorBytes }));
        assert.equal(answer.outcome, "opened");
        assert.deepEqual(namesOf(answer), ["Long", "Storage/Short", "Storage/Inner/[1]Tiny"]);
        for (const [index, content] of [long, short, tiny].entries())
          assert.ok(answer.members[index]?.content.equals(content), `${sectorBytes} ${index}`);
        assert.deepEqual(answer.rest, []);
      }
    }
  });

  test("of a file so large that the list of its table's sectors has sectors of its own", async () => {
    const large = randomBytes(110 * 128 * 512);
    const answer = await opened(compoundFile([{ name: "Large", content: large }, ...streams]));
    assert.equal(answer.outcome, "opened");
    assert.ok(answer.members[0]?.content.equals(large));
    assert.ok(answer.members[2]?.content.equals(short));
  });

  test("have the names that an installer packs", async () => {
    const packed = compoundFile([{ name: "\u4840\u3f3f\u4577\u446c\u3e6a\u44b2\u482f", content: short }]);
    assert.deepEqual(namesOf(await opened(packed)), ["!_StringPool"]);
  });

  test("that no other entry leads to come out too", async () => {
    const file = compoundFile(streams);
    const entry = file.indexOf(Buffer.from("Long", "utf16le"));
    file.writeUInt32LE(FREE, entry - 128 + 76);
    const answer = await opened(file);
    assert.ok(answer.members.every(({ way }) => way === undefined));
    assert.ok(answer.members[0]?.content.equals(long));
  });

  test("that readers take for short or long, by different rules, come out in both ways", async () => {
    const file = compoundFile([{ name: "A", content: short }, ...streams]);
    file.writeUInt32LE(500, 56);
    const answer = await opened(file);
    assert.ok(answer.members.some(({ content }) => content.equals(short)));
    file.writeUInt32LE(20_000, 56);
    assert.ok((await opened(file)).members.some(({ content }) => content.equals(long)));
  });
});

describe("what no stream of a compound file uses", () => {
  const hidden = Buffer.from("something that somebody has hidden here, where no program looks for it");
  const leftovers = ({ members }: Opened): Buffer[] =>
    members.flatMap(({ leftover, content }) => (leftover ? [content] : []));

  test("comes out as a leftover: free sectors in one piece, and what stands behind the ends of streams", async () => {
    const free = Buffer.concat([Buffer.alloc(1024), randomBytes(3000)]);
    for (const sectorBytes of [512, 4096] as const) {
      const answer = await opened(compoundFile(streams, { free, slack: hidden, sectorBytes }));
      assert.equal(answer.outcome, "opened");
      const [first, second] = leftovers(answer);
      assert.equal(first?.indexOf(free.subarray(1024)), 0, String(sectorBytes));
      assert.ok(second?.includes(hidden));
    }
  });

  test("there is nothing of it in a file without any", async () => {
    assert.deepEqual(leftovers(await opened(compoundFile(streams))), []);
  });

  test("comes out of empty entries, short sectors, the table's end and the header's as well", async () => {
    const file = compoundFile(streams, { sectorBytes: 4096 });
    const entries = file.indexOf(Buffer.from("Root Entry", "utf16le"));
    const miniStream = file.indexOf(tiny);
    for (const at of [1000, entries + 20 * 128, file.length - 500, miniStream + 64]) {
      const changed = Buffer.from(file);
      hidden.copy(changed, at);
      const found = leftovers(await opened(changed));
      assert.ok(Buffer.concat(found).includes(hidden.subarray(0, 50)), String(at));
    }
  });

  test("is left over as it is, where it stands behind the last sector in use", async () => {
    const file = compoundFile(streams);
    assert.deepEqual((await opened(Buffer.concat([file, hidden]))).rest, [
      { start: file.length, end: file.length + hidden.length },
    ]);
  });
});

describe("a compound file that says what is not so", () => {
  const file = compoundFile([{ name: "Long", content: long }]);
  const entry = file.indexOf(Buffer.from("Long", "utf16le"));
  /** The table is the last sector. */
  const tableAt = file.length - 512;
  const broken = (at: number, value: number): Buffer => {
    const copy = Buffer.from(file);
    copy.writeUInt32LE(value, at);
    return copy;
  };

  test("a stream that is longer than its chain cannot be read, and as much as there is comes out", async () => {
    for (const [what, copy, length] of [
      ["a size", broken(entry + 120, 100_000), 18 * 512],
      ["a chain that ends early", broken(tableAt + 8, 0xfffffffe), 3 * 512],
      ["a chain that leads out of the file", broken(tableAt + 8, 70_000), 3 * 512],
      ["a file that is cut off", file.subarray(0, 4000), 0],
    ] as const) {
      const answer = await openContainer(ole, copy);
      assert.equal(answer?.outcome, "unreadable", what);
      if (length > 0) assert.ok(answer?.members[0]?.content.subarray(0, length).equals(longPadded.subarray(0, length)));
    }
  });
  const longPadded = Buffer.concat([long, Buffer.alloc(216)]);

  test("a chain in a circle is followed once around", async () => {
    const copy = broken(tableAt + 5 * 4, 2);
    copy.writeUInt32LE(0x7fffffff, entry + 120);
    const answer = await opened(copy);
    assert.equal(answer.outcome, "unreadable");
    assert.ok((answer.members[0]?.content.length ?? 0) <= copy.length);
    assert.ok(answer.work < 20 * copy.length, String(answer.work));
  });

  test("a directory that leads to entries which are not there cannot be read", async () => {
    assert.equal((await opened(broken(entry - 128 + 76, 99))).outcome, "unreadable");
    assert.equal((await opened(broken(48, 0xfffffffe))).outcome, "unreadable");
  });

  test("lists and tables that go round in circles come to an end", async () => {
    for (const at of [44, 48, 60, 64, 68, 72, 76, 80]) {
      for (const value of [0, 1, 5, tableAt / 512 - 1, 0x7fffffff, 0xfffffffe, FREE]) {
        const answer = await opened(broken(at, value));
        assert.ok(answer.work < 100 * file.length, `${at} ${value}: ${answer.work}`);
      }
    }
  });

  test("short sectors of four bytes, each somewhere else, are charged for as what they cost", async () => {
    const copy = compoundFile([{ name: "Short", content: Buffer.alloc(4000, "short") }]);
    copy.writeUInt16LE(2, 32);
    const start = copy.readUInt32LE(copy.indexOf(Buffer.from("Root Entry", "utf16le")) + 116);
    // The sectors of the short streams are the table of the short sectors as well, which leads to and fro in them.
    copy.writeUInt32LE(start, 60);
    for (let at = 0; at < 1000; at += 1) copy.writeUInt32LE((at + 501) % 1000, (start + 1) * 512 + 4 * at);
    assert.ok((await opened(copy)).work > 500 * 900);
  });

  test("whatever bytes are changed, nothing is thrown and the work is in proportion", async () => {
    const whole = compoundFile(streams, { slack: short.subarray(0, 40), free: short });
    for (let turn = 0; turn < 600; turn += 1) {
      const copy = Buffer.from(whole);
      for (let change = 0; change <= turn % 7; change += 1) {
        const random = noise(5, `${turn} ${change}`);
        // Half of the changes hit the header and the last sectors, where the structure is.
        const at = 8 + (random.readUInt32LE(1) % (change % 2 === 0 ? copy.length - 8 : 1600));
        copy[change % 2 === 0 || at < 512 ? at : copy.length + 512 - at] = random[0] ?? 0;
      }
      const answer = await opened(copy.subarray(0, copy.length - (turn % 5 === 0 ? turn % 700 : 0)));
      assert.ok(answer.work < 100 * copy.length, copy.toString("base64"));
    }
  });
});
