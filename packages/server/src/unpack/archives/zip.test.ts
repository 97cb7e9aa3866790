import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { packedBy7z } from "../../../test/fixtures/archives.ts";
import {
  deflated,
  encrypted,
  METHOD_DEFLATED,
  type Member,
  packedAs,
  stored,
  withDescriptor,
  withZip64,
  type ZipShape,
  zip as zipFile,
} from "../../../test/fixtures/zip-writer.ts";
import { type Opened, openContainer } from "../../../test/support/open-container.ts";
import { zip } from "./zip.ts";

const payload = Buffer.from("the payload, which no directory has to list\n".repeat(8));
const other = Buffer.from("something else that is in every archive here\n".repeat(5));

async function opened(file: Uint8Array): Promise<Opened> {
  const result = await openContainer(zip, file);
  assert.ok(result, "no zip was found");
  return result;
}

function holds({ members }: Opened, content: Buffer): boolean {
  return members.some((member) => member.content.equals(content));
}

describe("members come out whole", () => {
  const members: Record<string, Member> = {
    stored: stored("a", payload),
    deflated: deflated("a", payload),
    "with a descriptor": withDescriptor(deflated("a", payload)),
    "stored with a descriptor": withDescriptor(stored("a", payload)),
    "zip64 in the local header": withZip64(deflated("a", payload), "local"),
    "zip64 in the directory": withZip64(deflated("a", payload), "central"),
    "zip64 in both": withZip64(stored("a", payload), "both"),
    "with the name of a folder": deflated("a/", payload),
    "without a name": deflated("", payload),
    "with a wrong checksum": { ...deflated("a", payload), crc: 1 },
    "stored, although the directory says deflated": { ...stored("a", payload), central: { method: METHOD_DEFLATED } },
    "deflated, although the directory says stored": { ...deflated("a", payload), central: { method: 0 } },
    "longer than the directory says": { ...stored("a", payload), central: { packedBytes: 10, unpackedBytes: 10 } },
    "longer than its own header says": { ...stored("a", payload), local: { packedBytes: 10, unpackedBytes: 10 } },
  };
  for (const [name, member] of Object.entries(members)) {
    test(name, async () => assert.ok(holds(await opened(zipFile([stored("b", other), member])), payload)));
  }
  for (const method of ["deflate64", "bzip2", "lzma", "ppmd"]) {
    test(method, async () => {
      const result = await opened(packedBy7z(payload, "zip", [`-mm=${method}`]));
      assert.equal(result.outcome, "opened");
      assert.ok(holds(result, payload));
    });
  }
});

describe("whatever the directory looks like", () => {
  const member = deflated("a", payload);
  const shapes: Record<string, ZipShape> = {
    "something stands before it": { prefix: Buffer.alloc(300, "x") },
    "something stands before it and is counted": { prefix: Buffer.alloc(300, "x"), prefixCounted: true },
    "it has a comment": { comment: other },
    "another zip is its comment": { comment: zipFile([stored("b", other)]) },
    "it is of the zip64 kind": { zip64End: true },
    "it says that there are fewer members": { end: { entries: 0, entriesHere: 0 } },
    "something stands behind it": { trailing: Buffer.alloc(500, "y") },
  };
  for (const [name, shape] of Object.entries(shapes)) {
    test(name, async () => assert.ok(holds(await opened(zipFile([stored("b", other), member], shape)), payload)));
  }

  test("it stands behind more than is searched, and its last member is as large", async () => {
    const large = stored("b", Buffer.alloc(2 * 1024 * 1024, "z"));
    for (const prefixCounted of [false, true]) {
      const file = zipFile([member, large], { prefix: Buffer.alloc(9 * 1024 * 1024, "x"), prefixCounted });
      const result = await opened(file);
      assert.equal(result.outcome, "opened");
      assert.ok(holds(result, payload));
    }
  });

  test("it is missing, and the last member is cut off", async () => {
    const file = zipFile([stored("b", other), stored("a", payload)]);
    const cut = file.subarray(0, file.indexOf(payload) + payload.length - 5);
    const result = await opened(cut);
    assert.ok(holds(result, other));
    assert.ok(holds(result, payload.subarray(0, -5)));
    assert.equal(result.outcome, "unreadable");
  });

  test("it does not list a member that stands between others", async () => {
    const hidden = zipFile([member]);
    const gap = hidden.subarray(0, hidden.indexOf("PK\x01\x02"));
    const result = await opened(zipFile([stored("b", other)], { beforeDirectory: gap }));
    assert.equal(result.outcome, "opened");
    assert.ok(holds(result, payload));
  });

  test("a member without a directory is in the comment", async () => {
    const hidden = zipFile([member]);
    const comment = hidden.subarray(0, hidden.indexOf("PK\x01\x02"));
    assert.ok(holds(await opened(zipFile([stored("b", other)], { comment })), payload));
  });

  test("two archives stand one behind the other", async () => {
    const result = await opened(Buffer.concat([zipFile([member]), zipFile([stored("b", other)])]));
    assert.ok(holds(result, payload) && holds(result, other));
  });
});

describe("what is left over is said", () => {
  const junk = Buffer.from("no part of the archive and longer than a descriptor");
  const places: Record<string, ZipShape> = {
    "before the first member": { prefix: junk, prefixCounted: true },
    "between the members and the directory": { beforeDirectory: junk },
    "between the directory and its end": { beforeEnd: junk },
    "behind the end": { trailing: junk },
    "in the comment": { comment: junk },
  };
  for (const [name, shape] of Object.entries(places)) {
    test(name, async () => {
      const file = zipFile([deflated("a", payload)], shape);
      const { place, rest, outcome } = await opened(file);
      assert.equal(outcome, "opened");
      const left = rest.map(({ start, end }) => file.subarray(place.start + start, place.start + end));
      // What stands before the first member is no part of the place at all.
      left.push(file.subarray(0, place.start));
      assert.ok(left.some((bytes) => bytes.includes(junk)));
    });
  }

  test("behind the end of the deflate stream, inside the packed size", async () => {
    const packed = Buffer.concat([deflateRawSync(payload), junk]);
    const file = zipFile([packedAs(METHOD_DEFLATED, { name: "a", packed, content: payload })]);
    const { rest, members } = await opened(file);
    assert.ok(rest.some(({ start, end }) => file.subarray(start, end).includes(junk)));
    assert.equal(members[0]?.way, undefined);
  });

  test("nothing of an ordinary archive, nor of a signed Android package", async () => {
    const block = Buffer.concat([Buffer.alloc(200, "signature"), Buffer.from("APK Sig Block 42")]);
    for (const shape of [{}, { beforeDirectory: block }, { comment: Buffer.from("short") }]) {
      assert.deepEqual((await opened(zipFile([deflated("a", payload), stored("b", other)], shape))).rest, []);
    }
  });
});

describe("only what is by the book may be left to another unpacker", () => {
  const ways = ({ members }: Opened): (string | undefined)[] => members.map(({ way }) => way);

  test("ordinary members", async () => {
    const file = zipFile([deflated("a", payload), stored("b", other), withDescriptor(deflated("c", payload))]);
    assert.deepEqual(ways(await opened(file)), ["zip/deflated", "zip/stored", "zip/deflated"]);
  });

  const odd: Record<string, () => Buffer> = {
    zip64: () => zipFile([withZip64(deflated("a", payload), "both")], { zip64End: true }),
    "a header that says otherwise": () => zipFile([{ ...deflated("a", payload), local: { packedBytes: 3 } }]),
    "a name that is different": () => {
      const file = zipFile([deflated("a", payload)]);
      file.write("b", 30);
      return file;
    },
    "something behind": () => zipFile([deflated("a", payload)], { trailing: Buffer.alloc(50, "x") }),
    "a flag that is seldom set": () => zipFile([{ ...deflated("a", payload), flags: 0x2000 }]),
    "two archives": () => Buffer.concat([zipFile([deflated("a", payload)]), zipFile([stored("b", other)])]),
    "a first member that makes it look like a disk": () =>
      zipFile([stored("a", Buffer.concat([Buffer.alloc(512 - 31), Buffer.from("EFI PART")])), deflated("b", payload)]),
    "no directory": () => zipFile([deflated("a", payload)]).subarray(0, -60),
    "an end record in the comment": () => {
      const file = Buffer.concat([zipFile([deflated("a", payload)]), Buffer.from("PK\x05\x06"), Buffer.alloc(18)]);
      file.writeUInt16LE(22, file.length - 24);
      return file;
    },
  };
  for (const [name, make] of Object.entries(odd)) {
    test(`not: ${name}`, async () => assert.ok(ways(await opened(make())).every((way) => way === undefined)));
  }
});

describe("what cannot be read is said to be so", () => {
  test("an encrypted member", async () => {
    const file = zipFile([stored("b", other), encrypted("a", payload, "secret")]);
    assert.equal((await opened(file)).outcome, "encrypted");
    assert.equal((await opened(packedBy7z(payload, "zip", ["-psecret", "-mem=AES256"]))).outcome, "encrypted");
  });
  test("a method that nobody knows", async () => {
    assert.equal((await opened(zipFile([{ ...deflated("a", payload), method: 77 }]))).outcome, "unreadable");
  });
  test("a directory that points to no member", async () => {
    assert.equal(
      (await opened(zipFile([{ ...deflated("a", payload), central: { offset: 7 } }]))).outcome,
      "unreadable",
    );
  });
  test("a damaged member, of which the beginning comes out", async () => {
    const content = Buffer.from(Array.from({ length: 4000 }, (_, index) => `line ${index * 7919}\n`).join(""));
    const file = zipFile([deflated("a", content)]);
    const middle = file.length >> 1;
    file.fill(0xff, middle, middle + 20);
    const { outcome, members } = await opened(file);
    assert.equal(outcome, "unreadable");
    const [first] = members;
    assert.ok(first && first.content.length > 1000 && content.includes(first.content.subarray(0, 1000)));
  });
});

describe("an archive that is cut off is never taken for a whole one", () => {
  const members = [deflated("a", payload), stored("b", other), withDescriptor(deflated("c", payload))];
  const archives: Record<string, Buffer> = {
    ordinary: zipFile(members),
    "of the zip64 kind": zipFile(
      members.map((member) => withZip64(member, "both")),
      { zip64End: true },
    ),
    "of one stored member": zipFile([stored("a", payload)]),
    "of one empty member": zipFile([stored("a", Buffer.alloc(0))]),
  };
  for (const [name, archive] of Object.entries(archives)) {
    test(`${name}: wherever it is cut`, async () => {
      assert.equal((await opened(archive)).outcome, "opened");
      for (let size = 30; size < archive.length; size += 1) {
        assert.equal((await opened(archive.subarray(0, size))).outcome, "unreadable", `${size} bytes of it`);
      }
    });
  }
});

describe("a member whose checksum fits no reading is unreadable, whatever comes out", () => {
  const packed = deflateRawSync(payload);
  const members: Record<string, Member> = {
    "stored bytes of another content": { ...stored("a", payload), crc: 1 },
    "deflated bytes that are said to be stored": packedAs(0, { name: "a", packed, content: payload }),
    "the same with one size": { ...packedAs(0, { name: "a", packed, content: payload }), unpackedBytes: packed.length },
    "the same with a checksum of zero": { ...packedAs(0, { name: "a", packed, content: payload }), crc: 0 },
    "stored bytes that are said to be deflated": packedAs(METHOD_DEFLATED, {
      name: "a",
      packed: payload,
      content: payload,
    }),
    "deflated bytes that are said to be bzip2": packedAs(12, { name: "a", packed, content: payload }),
  };
  for (const [name, member] of Object.entries(members)) {
    test(name, async () => {
      const result = await opened(zipFile([stored("b", other), member]));
      assert.equal(result.outcome, "unreadable");
      assert.ok(holds(result, payload));
    });
  }
  test("stored bytes that inflate come out both ways, though nothing is wrong about them", async () => {
    const result = await opened(zipFile([stored("a", packed)]));
    assert.equal(result.outcome, "opened");
    assert.ok(holds(result, packed) && holds(result, payload));
  });
  test("one right checksum of two is enough", async () => {
    const result = await opened(zipFile([{ ...stored("a", payload), local: { crc: 1 } }]));
    assert.equal(result.outcome, "opened");
  });
});

test("an empty member of any method is no reason for doubt, however it is packed", async () => {
  const nothing = Buffer.alloc(0);
  for (const packed of [nothing, Buffer.from("091405005d00000100", "hex"), Buffer.alloc(24, "x")]) {
    const member = packedAs(14, { name: "a", packed, content: nothing });
    assert.equal((await opened(zipFile([member, stored("b", other)]))).outcome, "opened");
  }
  const more = packedAs(14, { name: "a", packed: Buffer.alloc(40, "x"), content: nothing });
  assert.equal((await opened(zipFile([more, stored("b", other)]))).outcome, "unreadable");
});

describe("a header that leads past the beginning of its member", () => {
  for (const [name, at] of Object.entries({ "by the length of the name": 26, "by that of the extra field": 28 })) {
    for (const member of [stored("a", payload), deflated("a", payload)]) {
      test(`${name}, method ${member.method}: the member comes out by what the directory says`, async () => {
        const file = zipFile([member, stored("b", other)]);
        file.writeUInt16LE(7, at);
        assert.ok(holds(await opened(file), payload));
      });
    }
  }
});

test("a length that leads behind other members does not hide them", async () => {
  const hidden = zipFile([deflated("hidden", payload)]);
  const comment = hidden.subarray(0, hidden.indexOf("PK\x01\x02"));
  const file = zipFile([deflated("b", other)], { comment });
  file.writeUInt16LE(0x1a09, 26);
  assert.ok(holds(await opened(file), payload));
});

test("a size that reaches over members that no directory lists does not hide them", async () => {
  const body = zipFile([deflated("hidden", payload)]);
  const beforeDirectory = body.subarray(0, body.indexOf("PK\x01\x02"));
  const member = { ...stored("b", other), local: { packedBytes: 0x7fffffff } };
  assert.ok(holds(await opened(zipFile([member], { beforeDirectory })), payload));
});

test("a member of another method that no directory lists is unreadable where it cannot be opened", async () => {
  const member = packedAs(12, { name: "a", packed: payload, content: payload });
  const file = zipFile([member]);
  const { outcome } = await opened(file.subarray(0, file.indexOf("PK\x01\x02")));
  assert.equal(outcome, "unreadable");
});

test("a signature in other data is no archive", async () => {
  const text = Buffer.from("a zip begins with PK\x03\x04 and ends with PK\x05\x06, they say");
  const result = await openContainer(zip, text);
  assert.ok(result === undefined || (!result.place.sure && result.members.length === 0));
});

test("members that overlap, and thousands of end records, cost no more than their bytes", async () => {
  const many = Buffer.concat(Array.from({ length: 2000 }, (_, index) => zipFile([stored(`${index}`, other)])));
  const { work } = await opened(many);
  assert.ok(work < 20 * many.length, `${work / many.length} times its bytes`);
});

test("the first part of an archive in several parts is not clean, a whole one with their mark is opened", async () => {
  const mark = Buffer.from("PK\x07\x08", "latin1");
  const archive = zipFile([stored("a", payload), stored("b", other)]);
  assert.equal((await opened(Buffer.concat([mark, archive.subarray(0, -150)]))).outcome, "unreadable");
  assert.equal((await opened(Buffer.concat([mark, archive]))).outcome, "opened");
});

/** Data of a program in which a header happens to stand: encrypted, or damaged, and no member behind it. */
const headerInData = (flags: number): Buffer => {
  const header = Buffer.alloc(30);
  header.write("PK\x03\x04\x14\0", "latin1");
  header.writeUInt16LE(flags, 6);
  header.writeUInt16LE(METHOD_DEFLATED, 8);
  header.writeUInt32LE(700, 18);
  return Buffer.concat([Buffer.alloc(500, "data "), header, Buffer.alloc(900, 0xff)]);
};

describe("a header in the data of a program", () => {
  for (const [name, flags] of Object.entries({ "that says encrypted": 1, "of something damaged": 0 })) {
    test(`${name} is no reason for doubt, and what is behind it is left over`, async () => {
      const data = headerInData(flags);
      assert.notEqual((await openContainer(zip, data))?.outcome, "encrypted");
      const archive = zipFile([stored("a", payload)], { prefix: data });
      const result = await opened(archive);
      assert.equal(result.outcome, "opened");
      assert.ok(holds(result, payload));
      assert.ok(
        result.rest.some(({ start, end }) => start === 0 && end >= 900),
        JSON.stringify(result.rest),
      );
    });
  }
  test("is a member where another one follows it", async () => {
    const archive = zipFile([encrypted("a", payload, "password"), stored("b", other)]);
    const cut = Buffer.concat([Buffer.alloc(500, "data "), archive.subarray(0, archive.indexOf("PK\x01\x02"))]);
    assert.equal((await opened(cut)).outcome, "encrypted");
  });
});

describe("documents that say themselves that they are encrypted", () => {
  const manifest = (content: string): Member => deflated("META-INF/manifest.xml", Buffer.from(content));
  const odf = (entry: string): string =>
    `<manifest:manifest><manifest:file-entry>${entry}</manifest:file-entry></manifest:manifest>`;
  const epub = (algorithm: string): Member =>
    stored(
      "META-INF/encryption.xml",
      Buffer.from(
        `<encryption><enc:EncryptedData><enc:EncryptionMethod Algorithm="${algorithm}"/></enc:EncryptedData></encryption>`,
      ),
    );
  const files: Record<string, [Member, Opened["outcome"]]> = {
    OpenDocument: [manifest(odf('<manifest:encryption-data manifest:checksum="x">')), "encrypted"],
    "OpenDocument in two bytes a letter": [
      deflated("META-INF/manifest.xml", Buffer.from(odf("<manifest:encryption-data/>"), "utf16le")),
      "encrypted",
    ],
    "OpenDocument with another prefix": [manifest("<m:manifest><m:encryption-data></m:manifest>"), "encrypted"],
    "OpenDocument that is not encrypted": [manifest(odf("")), "opened"],
    "a book": [epub("http://www.w3.org/2001/04/xmlenc#aes128-cbc"), "encrypted"],
    "a book of which only the fonts are made unusable": [epub("http://www.idpf.org/2008/embedding"), "opened"],
    "a book that does not say how": [
      stored("META-INF/encryption.xml", Buffer.from('<e><CipherReference URI="a.xhtml"/></e>')),
      "encrypted",
    ],
    Pages: [stored(".iwpv2", other), "encrypted"],
  };
  for (const [name, [member, outcome]] of Object.entries(files)) {
    test(name, async () => {
      const result = await opened(zipFile([stored("mimetype", other), member]));
      assert.equal(result.outcome, outcome);
      assert.ok(holds(result, other));
    });
  }
});

describe("where the headers of a member disagree, and one of them is right", () => {
  const members: Record<string, Member> = {
    "about the method": { ...stored("a", payload), central: { method: METHOD_DEFLATED } },
    "about the method, the other way round": { ...stored("a", payload), local: { method: METHOD_DEFLATED } },
    "about a method that nobody knows": { ...deflated("a", payload), central: { method: 98 } },
    "about how much is packed": { ...deflated("a", payload), central: { packedBytes: 5 } },
  };
  for (const [name, member] of Object.entries(members)) {
    test(`${name}: it is opened`, async () => {
      const result = await opened(zipFile([stored("b", other), member]));
      assert.equal(result.outcome, "opened");
      assert.ok(holds(result, payload));
    });
  }
  test("a wrong size and a right checksum: it is opened, and as far as the size says", async () => {
    const result = await opened(zipFile([{ ...deflated("a", payload), unpackedBytes: 10 }]));
    assert.equal(result.outcome, "opened");
    assert.ok(holds(result, payload) && holds(result, payload.subarray(0, 10)));
  });
  test("an end record that says nothing at all leaves it to the one of zip64", async () => {
    const end = {
      disk: 0xffff,
      entriesHere: 0xffff,
      entries: 0xffff,
      directoryBytes: 0xffffffff,
      directoryOffset: 0xffffffff,
    };
    const result = await opened(zipFile([stored("a", payload), stored("b", other)], { zip64End: true, end }));
    assert.equal(result.outcome, "opened");
  });
  test("it is in doubt where they are not about the same content", async () => {
    const member = { ...deflated("a", payload), central: { method: 98, crc: 1 } };
    assert.equal((await opened(zipFile([member]))).outcome, "unreadable");
  });
});
