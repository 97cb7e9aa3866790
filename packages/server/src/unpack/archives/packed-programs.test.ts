import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { readExecutable, unopenable } from "./packed-programs.ts";

const CODE = 0x400;

interface Shape {
  sections?: string[];
  entry?: Uint8Array;
  overlay?: string | Uint8Array;
}

/** The headers of a program for Windows, one kilobyte of code, and whatever stands behind it. */
function pe({ sections = [".text", ".data"], entry = Buffer.of(0xc3), overlay = "" }: Shape = {}): Buffer {
  const file = Buffer.alloc(CODE + 1024);
  file.write("MZ");
  file.writeUInt32LE(0x80, 0x3c);
  file.write("PE\0\0", 0x80, "latin1");
  file.writeUInt16LE(0x14c, 0x84);
  file.writeUInt16LE(sections.length, 0x86);
  file.writeUInt16LE(224, 0x94);
  file.writeUInt32LE(0x1010, 0x98 + 16);
  sections.forEach((name, index) => {
    const at = 0x98 + 224 + 40 * index;
    file.write(name, at, 8, "latin1");
    file.writeUInt32LE(0x1000, at + 8);
    file.writeUInt32LE(0x1000 * (index + 1), at + 12);
    file.writeUInt32LE(512, at + 16);
    file.writeUInt32LE(CODE + 512 * index, at + 20);
  });
  file.set(entry, CODE + 0x10);
  return Buffer.concat([file, typeof overlay === "string" ? Buffer.from(overlay, "latin1") : overlay]);
}

function elf({ head = "", overlay = "" } = {}): Buffer {
  const file = Buffer.alloc(2048);
  file.set(Buffer.from("7f454c46020101", "hex"));
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56);
  file.writeBigUInt64LE(2048n, 64 + 32);
  file.write(head, 200, "latin1");
  return Buffer.concat([file, Buffer.from(overlay, "latin1")]);
}

const kindsOf = (file: Uint8Array): string[] =>
  unopenable.filter((opener) => opener.find(memoryBlob(file)).length > 0).map(({ kind }) => kind);

describe("a program that unpacks itself", () => {
  test("is known by the names of its sections", () => {
    const names = ["UPX0", "UPX1", ".aspack", ".adata", "FSG!", ".petite", "MEW", "nsp0", ".nsp1", "PEC2", "PEC2TO"];
    names.push(
      ".MPRESS1",
      ".themida",
      ".winlice",
      ".vmp0",
      ".enigma1",
      "kkrunchy",
      ".WWP32",
      "yC",
      ".perplex",
      ".spack",
    );
    for (const name of names) assert.deepEqual(kindsOf(pe({ sections: [".text", name] })), ["packed-program"], name);
    for (const name of [".text", ".rdata", ".rsrc", ".package", "UPX Inc", ".vmpx", ".data"]) {
      assert.deepEqual(kindsOf(pe({ sections: [name] })), [], name);
    }
  });

  test("is known by how it begins, whatever its sections are called", () => {
    for (const entry of [
      "60be006040008dbe00b0ffff5783cdff",
      "60e803000000e9eb045d4555c3e801000000",
      "eb016860e8000000008b1c2483c312812be8b10600",
      "558bec53565760e8000000005d81ed8c214000",
    ]) {
      assert.deepEqual(kindsOf(pe({ entry: Buffer.from(entry, "hex") })), ["packed-program"], entry);
      assert.deepEqual(kindsOf(pe({ overlay: Buffer.from(entry, "hex") })), [], "the same bytes elsewhere");
    }
  });

  test("is known on other systems by the mark behind its headers or at its end", () => {
    assert.deepEqual(kindsOf(elf({ head: "UPX!" })), ["packed-program"]);
    assert.deepEqual(kindsOf(elf({ overlay: "UPX!\r\0\0\0" })), ["packed-program"]);
    assert.deepEqual(kindsOf(elf()), []);
    assert.deepEqual(kindsOf(elf({ overlay: `UPX!${" ".repeat(100)}` })), []);
    const dos = Buffer.concat([Buffer.from("MZ"), Buffer.alloc(28), Buffer.from("PKLITE Copr."), Buffer.alloc(60)]);
    assert.deepEqual(kindsOf(dos), ["packed-program"]);
  });

  test("a text that mentions such marks is no program", () => {
    for (const text of [
      "UPX! UPX0 .aspack",
      "MZ UPX!",
      "MEI\x0c\x0b\x0a\x0b\x0e",
      "Inno Setup Setup Data (5.5.0)",
      "M",
      "",
    ]) {
      assert.deepEqual(kindsOf(Buffer.from(text, "latin1")), [], text);
    }
  });

  test("cannot be opened, and that is said", async () => {
    const opened = await openContainer(unopenable[0] ?? assert.fail(), pe({ sections: ["UPX0"] }));
    assert.equal(opened?.place.sure, true);
    assert.equal(opened?.outcome, "unreadable");
    assert.deepEqual(opened?.members, []);
  });
});

describe("an installer in a format of its own", () => {
  const autoIt = Buffer.from("a3484bbe986c4aa9994c530a86d6487d", "hex").toString("latin1");

  test("is known by its first bytes", () => {
    const symbian = Buffer.from("00000001123a001019040010244f8573", "hex");
    const newer = Buffer.from("7a1a20100000000000000000", "hex");
    for (const file of [symbian, newer, Buffer.from("ISc(\0\0\0\0"), Buffer.from(`${autoIt}AU3!EA06`, "latin1")]) {
      assert.deepEqual(kindsOf(Buffer.concat([file, Buffer.alloc(40)])), ["installer"]);
    }
  });

  test("is known by what stands behind its program", () => {
    const cookie = (length: number): string => {
      const numbers = Buffer.alloc(16);
      [length, 100, 50, 311].forEach((value, index) => {
        numbers.writeUInt32BE(value, index * 4);
      });
      return `${"x".repeat(200)}MEI\x0c\x0b\x0a\x0b\x0e${numbers.toString("latin1")}${"\0".repeat(64)}`;
    };
    for (const overlay of [
      "data1.cab\0Disk1\\data1.cab\x000.0.0.0\x00345678\0ISc(",
      Buffer.from("data1.cab\0Disk1\\data1.cab\x000.0.0.0\x00345678\0", "utf16le"),
      "ISSetupStream\0\x04\0\0\0",
      "NB10\0\0\0\0C:\\Setup.pdb\0InstallShield\0\x04\0\0\0\0\0\0\0",
      `${autoIt}AU3!EA06`,
      `${"x".repeat(1024 * 1024 - 2048 - 12)}${autoIt}AU3!EA05`,
      "zlb\x1a",
      `${"x".repeat(5000)}Inno Setup Setup Data (5.5.7) (u)`,
      "KAY\x28\xb5\x2f\xfd",
      cookie(160),
    ]) {
      assert.deepEqual(kindsOf(pe({ overlay })), ["installer"], overlay.toString().slice(0, 40));
    }
    assert.deepEqual(kindsOf(elf({ overlay: cookie(160) })), ["installer"]);
    for (const overlay of [
      "",
      "a text behind it",
      "AU3!EA06",
      cookie(1_000_000),
      "InstallShield\0",
      "signature\0of\0it\0",
    ]) {
      assert.deepEqual(kindsOf(pe({ overlay })), [], overlay.slice(0, 40));
    }
  });
});

test("headers that make no sense do no harm", () => {
  const file = pe({ sections: ["UPX0", "UPX1"] });
  for (let length = 0; length < file.length; length += 7) kindsOf(file.subarray(0, length));
  for (let seed = 0; seed < 2000; seed += 1) {
    const broken = Buffer.from(seed % 2 ? file : elf());
    for (let i = 0; i < 20; i += 1) broken[(seed * 31 + i * i * 7) % 400] = (seed * 17 + i * 91) & 0xff;
    const program = readExecutable(memoryBlob(broken));
    assert.ok(program === undefined || program.end <= broken.length);
    kindsOf(broken);
  }
});
