import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { bytes, glue, noise, u16, u32 } from "../../../test/fixtures/corpus/container.ts";
import { type Opened, openContainer } from "../../../test/support/open-container.ts";
import { embeddedLzh, lzh } from "./lzh.ts";
import { LZH_DECODERS } from "./lzh-decoders.ts";

const payload: Buffer = Buffer.from("a payload of some length, and a little more of it\n".repeat(10));

function crc16(content: Uint8Array): number {
  let sum = 0;
  for (const byte of content) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xa001 : sum >>> 1;
  }
  return sum;
}

interface Shape {
  method?: string;
  level?: number;
  packed?: Buffer;
  size?: number;
  crc?: number;
}

function member({
  method = "lh0",
  level = 0,
  packed = payload,
  size = payload.length,
  crc = crc16(payload),
}: Shape): Buffer {
  const head = (packedBytes: number): Buffer =>
    glue(`-${method}-`, u32(packedBytes), u32(size), bytes(0, 0, 0x21, 0, 0x20, level));
  if (level === 3) {
    const rest = glue(u16(crc), "U", u32(32 + 10), u32(10), bytes(1), "name.", u32(0));
    return glue(u16(4), head(packed.length), rest, packed);
  }
  if (level === 2) return glue(u16(34), head(packed.length), u16(crc), "U", u16(8), bytes(1), "name.", u16(0), packed);
  const further = glue(bytes(1), "name.", u16(0));
  const fields = glue(
    head(packed.length + (level === 1 ? further.length : 0)),
    bytes(1),
    "a",
    u16(crc),
    level === 1 ? glue("U", u16(8)) : "",
  );
  const sum = fields.reduce((total, byte) => (total + byte) & 0xff, 0);
  return glue(bytes(fields.length, sum), fields, level === 1 ? further : "", packed);
}

test("an archive behind something else is found by its header, and words that look like one are not", async () => {
  for (const level of [0, 1, 2, 3]) {
    const junk = Buffer.from(
      "a program that unpacks itself, with options like -lh5- and -lh0- in its help\n".repeat(9),
    );
    const result = await openContainer(embeddedLzh, glue(junk, member({ level }), "\0"));
    assert.equal(result?.place.start, junk.length, `level ${level}`);
    assert.ok(result?.members.some(({ content }) => content.equals(payload)));
    assert.equal(await openContainer(embeddedLzh, junk), undefined);
  }
});

test("a header that says it is two bytes shorter than it is, as some programs write it", async () => {
  const file = member({ level: 2, method: "lh0" });
  file.writeUInt16LE(file.readUInt16LE(0) - 2, 0);
  const result = await openContainer(lzh, glue(file, "\0"));
  assert.deepEqual(result?.members[0]?.content, payload);
});

async function opened(...members: Buffer[]): Promise<Opened> {
  const result = await openContainer(lzh, glue(...members, "\0"));
  assert.ok(result, "not recognised");
  return result;
}

/**
 * As the packers since LHA 2 write it, in one block: words of nine bits for letters and lengths, of four or five for distances.
 * The first sentence is written letter by letter, what repeats it as references as long as they can be.
 */
function packedInBlocks(distances: number, distanceBits: number): Buffer {
  const period = payload.indexOf("\n") + 1;
  const lengths = [200, 56, 44, 150];
  const bits: string[] = [];
  const put = (value: number, count: number): void => void bits.push(value.toString(2).padStart(count, "0"));
  put(period + lengths.length, 16);
  // All words are of nine bits: a code that needs no bits says so 510 times.
  put(0, 5);
  put(9 + 2, 5);
  put(510, 9);
  put(distances, distanceBits);
  for (let one = 0; one < distances; one += 1) put(distanceBits, 3);
  for (const letter of payload.subarray(0, period)) put(letter, 9);
  const place = Math.floor(Math.log2(period - 1)) + 1;
  for (const length of lengths) {
    put(256 + length - 3, 9);
    put(place, distanceBits);
    put(period - 1 - 2 ** (place - 1), place - 1);
  }
  const all = bits.join("");
  return Buffer.from((all.match(/.{1,8}/g) ?? []).map((eight) => Number.parseInt(eight.padEnd(8, "0"), 2)));
}

describe("members of an LHA archive come out", () => {
  for (const level of [0, 1, 2, 3]) {
    test(`with a header of level ${level}`, async () => {
      const { outcome, members, rest } = await opened(member({ level }), member({ level, method: "lz4" }));
      assert.equal(outcome, "opened");
      assert.deepEqual(
        members.map(({ content }) => content),
        [payload, payload],
      );
      assert.deepEqual(rest, []);
    });
  }
  const blocks = { lh4: [14, 4], lh5: [14, 4], lh6: [16, 5], lh7: [17, 5], lhx: [21, 5] } as const;
  for (const [method, [distances, distanceBits]] of Object.entries(blocks)) {
    test(`packed by ${method}`, async () => {
      const { outcome, members } = await opened(member({ method, packed: packedInBlocks(distances, distanceBits) }));
      assert.deepEqual(
        members.map(({ content }) => `${content}`),
        [`${payload}`],
      );
      assert.equal(outcome, "opened");
    });
  }
});

describe("any bits are something to the older methods", () => {
  // What lhasa makes of the same bits.
  const sums: readonly (readonly [method: string, packed: number, size: number, sum: string])[] = [
    ["lh1", 60_000, 280_000, "8918586f22d114fea47a9e6969c965768cf9414cdc26b682523c1ff08123a5a0"],
    ["lzs", 5000, 6000, "a19d3db2c458e8935bcbb22f35602fb6b42877d9abe9c4ea7491ef882db794c7"],
    ["lz5", 5000, 6000, "6def0e213caf67bbf68f45fe3dc178c82b2808adc1556f7eb81e957b1e1a9261"],
  ];
  for (const [method, packed, size, sum] of sums) {
    test(`${method} makes of them what it should`, () => {
      const { content, isWhole } = LZH_DECODERS[method]?.(noise(packed, method), size) ?? {};
      assert.equal(isWhole, true);
      assert.equal(
        createHash("sha256")
          .update(content ?? "")
          .digest("hex"),
        sum,
      );
    });
  }
});

describe("not clean", () => {
  const cases: Record<string, Buffer> = {
    "a wrong checksum": member({ method: "lh5", packed: packedInBlocks(14, 4), crc: 1 }),
    "a method that nobody knows": member({ method: "lh2" }),
    "a member that is cut off": member({ method: "lh5", packed: packedInBlocks(14, 4) }).subarray(0, -20),
    "a stored member that is cut off": member({}).subarray(0, -20),
    "noise as codes": member({ method: "lh5", packed: noise(400) }),
  };
  for (const [name, one] of Object.entries(cases)) {
    test(name, async () => assert.equal((await opened(one)).outcome, "unreadable"));
  }
  test("a size of four gigabytes", async () => {
    const claimed = member({ method: "lh5", packed: packedInBlocks(14, 4), size: 0xffff_ffff });
    assert.equal((await opened(claimed)).outcome, "too-large");
  });
});
