import { deflateRawSync } from "node:zlib";
import { deflated, encrypted, type Member, packedAs, stored, withDescriptor, zip } from "../zip-writer.ts";
import {
  bytes,
  type Container,
  containers,
  glue,
  HARMLESS,
  latin1,
  noise,
  patched,
  u16,
  u32,
  u64,
} from "./container.ts";
import { bodyOf, other } from "./zips.ts";

/** Zip files with something before, behind or between, and with names and flags that nobody expects. */

const READERS = ["7z", "unzip", "bsdtar", "python-zip", "bsdtar-stream", "busybox-unzip"];
const ENDS = { extension: ".zip", readers: READERS };
const zipOf = (content: Buffer, name: string): Buffer => zip([deflated(name, content)]);

/** A DOS program of a few bytes: says nothing, ends at once. */
export const STUB = glue("MZ", Buffer.alloc(58), u32(64), bytes(0xb4, 0x4c, 0xcd, 0x21), Buffer.alloc(444, 0x90));

const around = containers(
  "zip: before and behind",
  { ...ENDS },
  {
    "a program in front, counted": (content, name) =>
      zip([deflated(name, content)], { prefix: STUB, prefixCounted: true }),
    "a program in front, not counted": (content, name) => zip([deflated(name, content)], { prefix: STUB }),
    "a script in front": (content, name) =>
      zip([deflated(name, content)], { prefix: latin1("#!/bin/sh\nexec unzip $0\n"), prefixCounted: true }),
    "noise in front": (content, name) => zip([deflated(name, content)], { prefix: noise(1000) }),
    "a streamed member behind a program": (content, name) =>
      zip([withDescriptor(deflated(name, content))], { prefix: STUB, prefixCounted: true }),
    "the mark of a split archive in front": (content, name) =>
      zip([deflated(name, content)], { prefix: latin1("PK00") }),
    "the mark of a spanned archive in front": (content, name) =>
      zip([deflated(name, content)], { prefix: latin1("PK\x07\x08"), prefixCounted: true }),
    "zeros behind": (content, name) => zip([deflated(name, content)], { trailing: Buffer.alloc(1000) }),
    "noise behind": (content, name) => zip([deflated(name, content)], { trailing: noise(1000) }),
    "much noise behind": (content, name) => zip([deflated(name, content)], { trailing: noise(80_000) }),
    "a line end behind": (content, name) => zip([deflated(name, content)], { trailing: latin1("\r\n") }),
    "two zips, the payload in the first": {
      readers: ["7z", "bsdtar-stream"],
      wrap: (content, name) => glue(zipOf(content, name), zip([other()])),
    },
    "two zips, the payload in the second": (content, name) => glue(zip([other()]), zipOf(content, name)),
    "two zips, offsets counted": (content, name) => {
      const first = zip([other()]);
      return zip([deflated(name, content)], { prefix: first, prefixCounted: true });
    },
    "three zips, the payload in the middle": {
      readers: [],
      wrap: (content, name) => glue(zip([other()]), zipOf(content, name), zip([other()])),
    },
    "a zip in the comment": (content, name) => zip([other()], { comment: zipOf(content, name) }),
    "an end record in the comment": (content, name) => zip([deflated(name, content)], { comment: zip([]) }),
    "a comment of 64 KB": (content, name) => zip([deflated(name, content)], { comment: Buffer.alloc(65_535, "c") }),
    "a comment longer than said": (content, name) =>
      zip([deflated(name, content)], { comment: noise(300), end: { commentBytes: 3 } }),
    "a comment shorter than said": (content, name) => zip([deflated(name, content)], { end: { commentBytes: 300 } }),
    "a gap of zeros between members": (content, name) =>
      zip([deflated(name, content)], { prefix: glue(bodyOf(other()), Buffer.alloc(700)), prefixCounted: true }),
    "a gap of noise between members": (content, name) =>
      zip([deflated(name, content)], { prefix: glue(bodyOf(other()), noise(700)), prefixCounted: true }),
    "the payload raw in a gap": { readers: [], wrap: (content) => zip([other()], { beforeDirectory: content }) },
    "a zip in a gap": {
      readers: [],
      wrap: (content, name) => zip([other()], { beforeDirectory: zipOf(content, name) }),
    },
    "the payload raw behind": { readers: [], wrap: (content) => zip([other()], { trailing: content }) },
    "the signing block of an Android package": {
      ordinary: true,
      wrap: (content, name) => {
        const pairs = glue(u64(104), u32(0x7109871a), noise(100));
        const block = glue(u64(pairs.length + 24), pairs, u64(pairs.length + 24), "APK Sig Block 42");
        return zip([deflated("AndroidManifest.xml", HARMLESS), deflated(name, content)], { beforeDirectory: block });
      },
    },
    "a zip in the signing block": {
      readers: [],
      wrap: (content, name) => {
        const hidden = zipOf(content, name);
        const pairs = glue(u64(hidden.length + 4), u32(0x42424242), hidden);
        const block = glue(u64(pairs.length + 24), pairs, u64(pairs.length + 24), "APK Sig Block 42");
        return zip([deflated("AndroidManifest.xml", HARMLESS)], { beforeDirectory: block });
      },
    },
  },
);

/** With attributes in the directory, where the writer has none. */
function withAttributes(file: Buffer, attributes: number): Buffer {
  const at = file.lastIndexOf(latin1("PK\x01\x02"));
  return patched(patched(file, at + 38, u32(attributes)), at + 5, bytes(3));
}

const named =
  (name: string) =>
  (content: Buffer): Buffer =>
    zip([other(), deflated(name, content)]);

const names = containers(
  "zip: names and kinds",
  { ...ENDS },
  {
    "a name that leaves the folder": named("../../../../tmp/lazaret-was-here"),
    "an absolute name": named("/tmp/lazaret-was-here"),
    "a name with backslashes": named("..\\..\\lazaret.txt"),
    "a name with a zero byte": named("harmless.txt\0.exe"),
    "no name": named(""),
    "a name of 60 KB": { readers: ["bsdtar-stream", "python-zip", "7z"], wrap: named("n".repeat(60_000)) },
    "a name of one dot": named("."),
    "a name that is a device": named("CON"),
    "a name in no encoding": (content) => patched(zip([deflated("xyz.txt", content)]), 30, bytes(0xff, 0xfe, 0xc0)),
    "a name with line ends": named("a\r\nb.txt"),
    "two members of one name, the payload last": (content, name) =>
      zip([deflated(name, HARMLESS), deflated(name, content)]),
    "two members of one name, the payload first": (content, name) =>
      zip([deflated(name, content), deflated(name, HARMLESS)]),
    "a folder with a content": { readers: ["7z", "python-zip", "unzip-pipe"], wrap: named("folder/") },
    "a stored folder with a content": {
      readers: ["7z", "python-zip", "unzip-pipe"],
      wrap: (content) => zip([stored("folder/", content)]),
    },
    "a link with a content": {
      readers: ["7z", "python-zip", "unzip-pipe"],
      wrap: (content, name) => withAttributes(zipOf(content, name), 0xa1ff0000),
    },
    "a device with a content": {
      readers: ["7z", "python-zip", "unzip-pipe"],
      wrap: (content, name) => withAttributes(zipOf(content, name), 0x61ff0000),
    },
    "a folder by its attributes": {
      readers: ["7z", "python-zip", "unzip-pipe"],
      wrap: (content, name) => withAttributes(zipOf(content, name), 0x41ed0010),
    },
    "a file and a folder of one name": (content, name) =>
      zip([stored(`${name}/`, Buffer.alloc(0)), deflated(name, content)]),
    "two thousand members before": {
      ordinary: true,
      wrap: (content, name) =>
        zip([...Array.from({ length: 2000 }, (_, index) => stored(`${index}`, HARMLESS)), deflated(name, content)]),
    },
  },
);

const flagged =
  (flags: number) =>
  (content: Buffer, name: string): Buffer =>
    zip([{ ...deflated(name, content), flags }, other()]);

const flags = containers(
  "zip: flags and overlaps",
  { ...ENDS },
  {
    "the flag of strong encryption": flagged(0x40),
    "the flag of hidden headers": flagged(0x2000),
    "the flag of patched data": flagged(0x20),
    "the flag of UTF-8": { ordinary: true, wrap: flagged(0x800) },
    "the flags of how well it is packed": { ordinary: true, wrap: flagged(6) },
    "all reserved flags": flagged(0xd780),
    "the flag of a descriptor that is not there": flagged(8),
    "two entries for one member": (content, name) => {
      const member = deflated(name, content);
      const second: Member = { ...member, packed: [], central: { offset: 0 } };
      const file = zip([member, second]);
      return file;
    },
    "a member in a stored member": (content, name) => {
      const hidden = bodyOf(deflated(name, content));
      return zip([stored("outer.bin", hidden), { ...deflated(name, content), packed: [], central: { offset: 39 } }]);
    },
    "a member that begins in another's packed bytes": {
      readers: [],
      wrap: (content, name) => {
        const hidden = bodyOf(deflated(name, content));
        const packed = glue(bytes(1), u16(hidden.length), u16(~hidden.length), hidden);
        return zip([packedAs(8, { name: "outer.bin", packed, content: hidden })]);
      },
    },
    "an encrypted member beside": (content, name) =>
      zip([deflated(name, content), encrypted("key.txt", HARMLESS, "secret")]),
    "a deflate stream without an end": (content, name) => {
      const packed = deflateRawSync(glue(content), { finishFlush: 2 });
      return zip([packedAs(8, { name, packed, content })]);
    },
    "a member of an unknown method beside": (content, name) =>
      zip([packedAs(97, { name: "sound.wv", packed: noise(90), content: noise(200) }), deflated(name, content)]),
    "a damaged member beside": (content, name) =>
      zip([packedAs(8, { name: "damaged.txt", packed: noise(90), content: noise(200) }), deflated(name, content)]),
    "a zip that looks like a tar": (content, name) => {
      const file = zip([stored("filler", Buffer.alloc(600)), deflated(name, content)]);
      return patched(file, 257, latin1("ustar"));
    },
    "a zip that looks like a picture": (content, name) =>
      patched(zip([deflated(name, content)], { prefix: Buffer.alloc(16) }), 0, latin1("GIF89a")),
  },
);

/** Packages that are zips, with what makes a reader know them. */
const packages = containers(
  "zip: packages",
  { ...ENDS, ordinary: true },
  {
    "a Java archive": (content, name) =>
      zip([
        {
          ...deflated("META-INF/MANIFEST.MF", latin1("Manifest-Version: 1.0\r\n\r\n")),
          extra: glue(u16(0xcafe), u16(0)),
        },
        withDescriptor(deflated(name, content)),
      ]),
    "an Office document": (content) =>
      zip([
        deflated("[Content_Types].xml", latin1('<?xml version="1.0"?><Types></Types>')),
        deflated("word/document.xml", latin1("<w:document/>")),
        deflated("word/media/image1.png", content),
      ]),
    "an OpenDocument": (content) =>
      zip([
        stored("mimetype", latin1("application/vnd.oasis.opendocument.text")),
        deflated("content.xml", latin1("<office:document-content/>")),
        deflated("Object 1", content),
      ]),
    "an electronic book": (content) =>
      zip([stored("mimetype", latin1("application/epub+zip")), deflated("OEBPS/font.ttf", content)]),
  },
);

export const zipOddities: readonly Container[] = [...around, ...names, ...flags, ...packages];
