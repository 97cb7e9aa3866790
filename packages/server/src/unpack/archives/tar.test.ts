import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tar as tarFile } from "../../../test/fixtures/tar-writer.ts";
import { type Opened, openContainer } from "../../../test/support/open-container.ts";
import { tar } from "./tar.ts";

const payload = Buffer.from("the payload, of which every byte counts\n".repeat(20));
const other = Buffer.from("something else\n".repeat(50));
const BLOCK = 512;
const END = Buffer.alloc(2 * BLOCK);

/** A header with some fields written differently, and the right checksum, or another one. */
function header(name: string, size: number, change: (block: Buffer) => void = () => {}, checksum = 0): Buffer {
  const block = Buffer.from(tarFile([{ name, content: Buffer.alloc(0) }]).subarray(0, BLOCK));
  block.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  change(block);
  block.write("        ", 148);
  const sum = block.reduce((total, byte) => total + byte, 0) + checksum;
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

function padded(content: Uint8Array): Buffer {
  return Buffer.concat([content, Buffer.alloc(-content.length & (BLOCK - 1))]);
}

function pax(records: Record<string, string>): Buffer {
  const text = Object.entries(records).map(([key, value]) => {
    const body = ` ${key}=${value}\n`;
    const length = body.length + String(body.length + 2).length;
    return `${length}${body}`;
  });
  const content = Buffer.from(text.join(""));
  return Buffer.concat([header("pax", content.length, (block) => block.write("x", 156)), padded(content)]);
}

const base256 = (size: number) => (block: Buffer) => {
  block.fill(0, 124, 136);
  block[124] = 0x80;
  block.writeUInt32BE(size, 132);
};

async function opened(...pieces: Uint8Array[]): Promise<Opened> {
  const result = await openContainer(tar, Buffer.concat(pieces));
  assert.ok(result, "no tar was found");
  return result;
}

const first = Buffer.concat([header("first", other.length), padded(other)]);
const member = Buffer.concat([header("a", payload.length), padded(payload)]);

describe("members come out whole", () => {
  const archives: Record<string, Buffer[]> = {
    "of an ordinary archive": [first, member, END],
    "without the blocks at the end": [first, member],
    "with a size in base 256": [first, header("a", 0, base256(payload.length)), padded(payload), END],
    "with a size in a PAX record": [first, pax({ size: String(payload.length) }), header("a", 0), padded(payload), END],
    "behind the end of the archive": [first, END, member, END],
    "behind a header with a wrong checksum": [header("bad", other.length, () => {}, 1), padded(other), member, END],
    "behind a first header that is damaged and has no magic number": [
      header("bad", other.length, (block) => block.fill(0, 257, 265), 1),
      padded(other),
      member,
      END,
    ],
    "cut off in what fills up the last block": [first, header("a", payload.length), payload, Buffer.alloc(3)],
    "behind a file with a folder's name": [header("a", 0, (block) => block.write("5", 156)), member, END],
    "behind a damaged block": [first, Buffer.alloc(BLOCK, "damage"), member, END],
    "with a header that has no magic number": [
      header("a", payload.length, (block) => block.fill(0, 257, 265)),
      padded(payload),
      END,
    ],
    "of a type nobody knows": [header("a", payload.length, (block) => block.write("Q", 156)), padded(payload), END],
    "of a hard link that has content": [
      first,
      header("a", payload.length, (block) => block.write("1", 156)),
      padded(payload),
      END,
    ],
  };
  for (const [name, pieces] of Object.entries(archives)) {
    test(name, async () => {
      const { members, outcome } = await opened(...pieces);
      assert.equal(outcome, "opened");
      assert.ok(members.some(({ content }) => content.equals(payload)));
    });
  }

  test("where the header and the PAX record disagree both readings come out", async () => {
    const short = payload.subarray(0, 100);
    const file = [pax({ size: "100" }), header("a", payload.length), padded(payload), first, END];
    const { members } = await opened(...file);
    assert.ok(members.some(({ content }) => content.equals(payload)));
    assert.ok(members.some(({ content }) => content.equals(short)));
    assert.ok(members.some(({ content }) => content.equals(other)));
  });
});

/** A number as old GNU tars write it. */
const octal = (value: number): string => `${value.toString(8).padStart(11, "0")}\0`;

test("a file with holes comes out with them, as many as there are", async () => {
  const stretches = Array.from({ length: 30 }, (_, index) => ({ offset: 1000 * index, bytes: 20 }));
  const map = stretches.map(({ offset, bytes }) => octal(offset) + octal(bytes));
  const head = header("sparse", 600, (block) => {
    block.write("S", 156);
    block.write(map.slice(0, 4).join(""), 386);
    block[482] = 1;
    block.write(octal(30_000), 483);
  });
  const further = [map.slice(4, 25), map.slice(25)].map((some, index) => {
    const block = Buffer.alloc(BLOCK);
    block.write(some.join(""));
    block[504] = index === 0 ? 1 : 0;
    return block;
  });
  const whole = Buffer.alloc(30_000);
  for (const [index, { offset, bytes }] of stretches.entries())
    payload.copy(whole, offset, index * bytes, (index + 1) * bytes);
  const { members, outcome } = await opened(head, ...further, padded(payload.subarray(0, 600)), member, END);
  assert.equal(outcome, "opened");
  assert.ok(members.some(({ content }) => content.equals(whole)));
  assert.ok(
    members.some(({ content }) => content.equals(payload)),
    "what follows it",
  );
});

test("a file of half a gigabyte of holes comes out without them, and is no bomb", async () => {
  const head = header("sparse", 100, (block) => {
    block.write("S", 156);
    block.write(octal(536_000_000) + octal(100), 386);
    block.write(octal(536_000_100), 483);
  });
  const { members, outcome } = await opened(head, padded(payload.subarray(0, 100)), member, END);
  assert.equal(outcome, "opened");
  assert.ok(members.some(({ content }) => content.equals(payload.subarray(0, 100))));
  assert.ok(members.every(({ content }) => content.length < 1000));
});

test("a size in a header that leads behind the end does not count where a PAX record says the right one", async () => {
  const size = String(payload.length);
  const { outcome } = await opened(pax({ size }), header("a", 99_999), padded(payload), END);
  assert.equal(outcome, "opened");
});

test("a member behind a magic number and a wrong checksum comes out, and is no reason for doubt", async () => {
  const { place, members, rest } = await opened(
    header("a", payload.length, () => {}, 5),
    padded(payload),
    END,
  );
  assert.equal(place.sure, false);
  assert.deepEqual(
    members.map(({ content }) => content),
    [payload],
  );
  assert.deepEqual(rest, [{ start: 0, end: BLOCK + padded(payload).length }]);
});

describe("what is no part of the archive is left over", () => {
  test("behind its end", async () => {
    const junk = Buffer.alloc(BLOCK, "junk ");
    const { rest } = await opened(first, END, junk);
    assert.deepEqual(rest, [{ start: first.length + END.length, end: first.length + END.length + BLOCK }]);
  });
  test("in a block that is no header", async () => {
    const { rest } = await opened(first, Buffer.alloc(BLOCK, "damage"), member, END);
    assert.deepEqual(rest, [{ start: first.length, end: first.length + BLOCK }]);
  });
});

describe("only what is by the book may be left to another unpacker", () => {
  const ways = async (...pieces: Buffer[]): Promise<(string | undefined)[]> =>
    (await opened(...pieces)).members.map(({ way }) => way);
  test("ordinary members", async () => assert.deepEqual(await ways(first, member, END), ["tar", "tar"]));
  const odd: Record<string, Buffer[]> = {
    "a size in base 256": [header("a", 0, base256(payload.length)), padded(payload), END],
    "a PAX record": [pax({ path: "b" }), member, END],
    "no end": [first, member],
    "a first name that a picture begins with": [header("GIF89a.gif", 0), member, END],
    "a member behind the end": [first, END, member, END],
  };
  for (const [name, pieces] of Object.entries(odd)) {
    test(`not: ${name}`, async () => assert.ok((await ways(...pieces)).every((way) => way === undefined)));
  }
});

test("a PAX record for all members says the size of each", async () => {
  const all = pax({ size: String(payload.length) });
  all.write("g", 156);
  const sum = all.subarray(0, BLOCK).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  all.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const { members } = await opened(all, header("a", 10), padded(payload), header("b", 11), padded(payload), END);
  assert.equal(members.filter(({ content }) => content.equals(payload)).length, 2);
});

test("an archive that is cut off in a header, or behind one about the next member, is unreadable", async () => {
  const pieces: Record<string, Buffer[]> = {
    "in a header": [first, member.subarray(0, 300)],
    "behind a PAX header": [first, pax({ path: "long" })],
    "in a PAX header": [first, pax({ path: "long" }).subarray(0, -600)],
    "in the records of a PAX header": [first, pax({ path: "long" }).subarray(0, -505)],
  };
  for (const [name, archive] of Object.entries(pieces)) {
    assert.equal((await opened(...archive)).outcome, "unreadable", name);
  }
  const behind = await opened(first, END, Buffer.from("a remark behind the end"));
  assert.equal(behind.outcome, "opened");
});

describe("a checksum as the loosest program reads it, without a magic number", () => {
  const checksums: Record<string, (sum: number) => Buffer> = {
    "in base 256": (sum) => Buffer.from([0x80, 0, 0, 0, 0, 0, sum >> 8, sum & 0xff]),
    "behind a tab": (sum) => Buffer.from(`\t${sum.toString(8)}`.padEnd(8, "\0")),
  };
  for (const [name, write] of Object.entries(checksums)) {
    test(name, async () => {
      const block = Buffer.from(member);
      block.fill(0, 257, 263);
      block.fill(0x20, 148, 156);
      block.set(write(block.subarray(0, BLOCK).reduce((total, byte) => total + byte, 0)), 148);
      const result = await opened(block, END);
      assert.equal(result.outcome, "opened");
      assert.ok(result.members.some(({ content }) => content.equals(payload)));
    });
  }
});

test("a size that only some programs can read makes it unreadable", async () => {
  const size = (text: string): Buffer => header("a", 0, (block) => void block.write(text.padEnd(12, "\0"), 124));
  for (const text of ["0000000_657", "    0o657"]) {
    assert.equal((await opened(first, size(text), padded(payload), END)).outcome, "unreadable", text);
  }
  assert.equal((await opened(first, size("657 x"), padded(payload), END)).outcome, "opened");
});

test("an archive that was cut off in a member is unreadable, and what is there comes out", async () => {
  const { outcome, members } = await opened(first, member.subarray(0, BLOCK + 100));
  assert.equal(outcome, "unreadable");
  assert.ok(members.some(({ content }) => content.equals(payload.subarray(0, 100))));
});
