import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constants, crc32, deflateRawSync } from "node:zlib";
import { eicar } from "./eicar.ts";
import { tar } from "./tar-writer.ts";
import {
  deflated,
  encrypted,
  METHOD_DEFLATED,
  type Member,
  packedAs,
  stored,
  withDescriptor,
  withZip64,
  zip,
  zipPieces,
} from "./zip-writer.ts";

/**
 * Files that make scanners lie, and what must be said about them. `no`: anything but clean or infected. Made anew each
 * time, piece by piece where they are large; the whole table takes a few seconds and little memory.
 */
export interface HostileFile {
  name: string;
  expected: "infected" | "no" | "clean";
  make(): AsyncIterable<Uint8Array>;
}

const MIB = 1024 * 1024;

export const hostileFiles: readonly HostileFile[] = [
  whole("EICAR in 16 nested zips", "infected", () => nested(16)),
  whole("EICAR in 17 nested zips", "no", () => nested(17)),
  whole("EICAR in 20 nested zips", "no", () => nested(20)),
  whole("EICAR in 60 nested zips", "no", () => nested(60)),
  pieces("a zip member of 300 MiB with EICAR at its end", "no", () => zipPieces([hugeMember("huge.bin", 300)])),
  pieces("a zip member of 1 GiB with EICAR at its end", "no", () => zipPieces([hugeMember("huge.bin", 1024)])),
  whole("a zip64 member", "no", () => zip([withZip64(deflated("eicar.com", eicar()), "both")], { zip64End: true })),
  whole("a member that is zip64 in its local header alone", "no", () =>
    zip([withZip64(deflated("eicar.com", eicar()), "local")]),
  ),
  pieces("100 members of 20 MiB, then EICAR", "no", () => zipPieces(manyLargeMembers())),
  pieces("a gzip of 1 GiB with EICAR at its end", "no", () => hugeGzip(1024)),
  pieces("40,000 empty entries and EICAR", "no", () => zipPieces(manyEmptyMembers(40_000))),
  whole("an encrypted zip", "no", () => zip([encrypted("eicar.com", eicar(), "secret")])),
  sevenZip("an encrypted zip of WinZip's kind", ["-tzip", "-psecret", "-mem=AES256"]),
  sevenZip("an encrypted 7z", ["-t7z", "-psecret"]),
  sevenZip("a 7z with encrypted names", ["-t7z", "-psecret", "-mhe=on"]),
  sevenZip("a zip packed with LZMA", ["-tzip", "-mm=LZMA"]),
  sevenZip("a zip packed with PPMd", ["-tzip", "-mm=PPMd"]),
  whole("a zip whose local header tells another method", "no", () =>
    zip([{ ...deflated("eicar.com", eicar()), local: { method: 12 } }]),
  ),
  whole("a zip whose local header tells no size", "no", () =>
    zip([{ ...deflated("eicar.com", eicar()), local: { packedBytes: 0, unpackedBytes: 0 } }]),
  ),
  whole("a zip that looks like a tar", "no", zipLikeTar),
  whole("a zip behind a gzip", "no", () =>
    zip([deflated("eicar.com", eicar())], { prefix: gzip(Buffer.from("hello")) }),
  ),
  whole("a zip of streamed members behind a script", "no", () =>
    zip([withDescriptor(deflated("eicar.com", eicar()))], { prefix: Buffer.from("#!/bin/sh\n"), prefixCounted: true }),
  ),
  whole("two zips in one file", "no", () =>
    Buffer.concat([zip([deflated("eicar.com", eicar())]), zip([deflated("readme.txt", Buffer.from("hello"))])]),
  ),
  whole("a zip that lost its directory", "no", () => {
    const file = zip([deflated("eicar.com", eicar())]);
    return file.subarray(0, file.length - 77);
  }),
  pieces("a raw file of 199 MiB with EICAR at its end", "infected", () => largeRawFile(199)),
  whole("a tar with names that leave it and a link", "infected", wanderingTar),
  whole("a truncated zip", "clean", () => zip([deflated("eicar.com", eicar())]).subarray(0, 80)),
  whole("an empty file", "clean", () => Buffer.alloc(0)),
  whole("an ordinary zip", "clean", () => zip(ordinaryMembers())),
  whole("an ordinary zip of streamed members", "clean", () => zip(ordinaryMembers().map(withDescriptor))),
  whole("a zip with EICAR in a streamed member", "infected", () =>
    zip([...ordinaryMembers(), withDescriptor(deflated("eicar.com", eicar()))]),
  ),
];

function whole(name: string, expected: HostileFile["expected"], make: () => Uint8Array): HostileFile {
  return pieces(name, expected, () => [make()]);
}

function pieces(name: string, expected: HostileFile["expected"], make: () => Iterable<Uint8Array>): HostileFile {
  return {
    name,
    expected,
    async *make() {
      yield* make();
    },
  };
}

/** EICAR in an archive made by 7-Zip itself, which no engine opens: expected is always `no`. */
function sevenZip(name: string, options: readonly string[]): HostileFile {
  return {
    name,
    expected: "no",
    async *make() {
      const folder = await mkdtemp(join(tmpdir(), "lazaret-hostile-"));
      try {
        const path = join(folder, "archive.bin");
        await new Promise<void>((resolve, reject) => {
          const child = execFile("7z", ["a", ...options, "-sieicar.com", path], (error) =>
            error ? reject(error) : resolve(),
          );
          child.stdin?.end(eicar());
        });
        yield await readFile(path);
      } finally {
        await rm(folder, { recursive: true });
      }
    },
  };
}

function nested(depth: number): Buffer {
  let file = eicar();
  for (let level = 0; level < depth; level += 1) file = zip([deflated(level === 0 ? "eicar.com" : "inner.zip", file)]);
  return file;
}

function ordinaryMembers(): Member[] {
  const text = Buffer.from("the quick brown fox jumps over the lazy dog\n".repeat(100));
  return [
    stored("mimetype", Buffer.from("text/plain")),
    stored("docs/", Buffer.alloc(0)),
    deflated("docs/fox.txt", text),
  ];
}

/** One MiB of one byte as a deflate block that can stand any number of times one after the other: it ends on a byte. */
function deflateBlock(content: Buffer): Buffer {
  return deflateRawSync(content, { finishFlush: constants.Z_SYNC_FLUSH });
}

/** Zeros, then EICAR: about 1 KB for each MiB. */
function hugeMember(name: string, mebibytes: number): Member {
  const zeros = Buffer.alloc(MIB);
  return repeated(name, zeros, { times: mebibytes, last: eicar() });
}

function* manyLargeMembers(): Generator<Member> {
  // Each with another content, or the engine would look at the first one only.
  for (let byte = 0; byte < 100; byte += 1) {
    yield repeated(`large-${byte}.bin`, Buffer.alloc(MIB, byte), { times: 20, last: Buffer.alloc(0) });
  }
  yield deflated("eicar.com", eicar());
}

function repeated(name: string, content: Buffer, { times, last }: { times: number; last: Buffer }): Member {
  const block = deflateBlock(content);
  const end = deflateRawSync(last);
  let crc = 0;
  for (let count = 0; count < times; count += 1) crc = crc32(content, crc);
  return {
    ...packedAs(METHOD_DEFLATED, { name, packed: end, content: last }),
    packed: {
      *[Symbol.iterator]() {
        for (let count = 0; count < times; count += 1) yield block;
        yield end;
      },
    },
    packedBytes: times * block.length + end.length,
    unpackedBytes: times * content.length + last.length,
    crc: crc32(last, crc),
  };
}

function* manyEmptyMembers(count: number): Generator<Member> {
  const empty = stored("", Buffer.alloc(0));
  for (let number = 0; number < count; number += 1) yield { ...empty, name: `${number}` };
  yield deflated("eicar.com", eicar());
}

function* hugeGzip(mebibytes: number): Generator<Uint8Array> {
  yield* gzipPieces(hugeMember("", mebibytes));
}

function gzip(content: Buffer): Buffer {
  return Buffer.concat([...gzipPieces(deflated("", content))]);
}

function* gzipPieces(member: Member): Generator<Uint8Array> {
  yield Buffer.of(0x1f, 0x8b, METHOD_DEFLATED, 0, 0, 0, 0, 0, 0, 3);
  yield* member.packed;
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(member.crc, 0);
  trailer.writeUInt32LE(member.unpackedBytes, 4);
  yield trailer;
}

function* largeRawFile(mebibytes: number): Generator<Uint8Array> {
  const piece = Buffer.alloc(MIB, "not a run of anything ");
  for (let count = 0; count < mebibytes - 1; count += 1) yield piece;
  const content = eicar();
  yield piece.subarray(content.length);
  yield content;
}

/** Every unzipper opens it as a zip; ClamAV goes by the mark of a tar, and unpacks nothing. */
function zipLikeTar(): Buffer {
  const file = zip([stored("filler", Buffer.alloc(600)), deflated("eicar.com", eicar())]);
  file.write("ustar", 257);
  return file;
}

function wanderingTar(): Buffer {
  return tar([
    { name: "../../../lazaret-was-here.com", content: eicar() },
    { name: "link", linkTo: "/etc" },
    { name: "link/lazaret-was-here.com", content: eicar() },
  ]);
}
