import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { openContainer } from "../../../test/support/open-container.ts";
import { hexRecords } from "./hex-records.ts";

const payload = randomBytes(300);

function pieces(bytes: Buffer): { address: number; data: Buffer }[] {
  return Array.from({ length: Math.ceil(bytes.length / 16) }, (_, index) => {
    return { address: index * 16, data: bytes.subarray(index * 16, index * 16 + 16) };
  });
}

const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, "0");

const contents = async (text: string): Promise<Buffer[]> =>
  ((await openContainer(hexRecords, Buffer.from(text)))?.members ?? []).map(({ content }) => content);

test("the bytes of Intel's files come out as one", async () => {
  const lines = pieces(payload).map(
    ({ address, data }) => `:${hex(data.length, 2)}${hex(address, 4)}00${data.toString("hex")}00`,
  );
  assert.deepEqual(await contents([":020000040000FA", ...lines, ":00000001FF", ""].join("\r\n")), [payload]);
});

test("and of Motorola's", async () => {
  const lines = pieces(payload).map(
    ({ address, data }) => `S1${hex(data.length + 3, 2)}${hex(address, 4)}${data.toString("hex")}00`,
  );
  assert.deepEqual(await contents(["S00600004844521B", ...lines, "S9030000FC", ""].join("\n")), [payload]);
});

test("and of dumps, without the letters beside them", async () => {
  const rows = pieces(payload).map(({ address, data }) => {
    const groups = (size: number): string =>
      data
        .toString("hex")
        .match(new RegExp(`.{1,${size * 2}}`, "g"))
        ?.join(" ") ?? "";
    const letters = data.toString("latin1").replace(/[^a-z ]/gi, ".");
    return {
      xxd: `${hex(address, 8)}: ${groups(2).padEnd(40)} ${letters}`,
      hexdump: `${hex(address, 8)}  ${groups(1).padEnd(48)}  |${letters}|`,
      certutil: `\t${hex(address, 4)}\t${groups(1).padEnd(48)}   ${letters}`,
    };
  });
  for (const kind of ["xxd", "hexdump", "certutil"] as const) {
    assert.deepEqual(await contents(rows.map((row) => row[kind]).join("\n")), [payload], kind);
  }
});

test("other text is none", async () => assert.deepEqual(await contents(": and S1 are how lines begin\n: S1\n"), []));
