import {
  bytes,
  type Container,
  containers,
  glue,
  HARMLESS,
  latin1,
  madeBy,
  noise,
  padTo,
  patched,
  type Wrap,
} from "./container.ts";

/** Tar, and what can be different in its headers. */

interface Header {
  name: string;
  /** As it stands in the header; from the content if left out. */
  size?: Buffer | number;
  type?: string;
  link?: string;
  magic?: string;
  checksum?: number;
  prefix?: string;
}

const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;

function header(fields: Header, content: Uint8Array): Buffer {
  const block = Buffer.alloc(512);
  block.write(fields.name, 0, 100, "latin1");
  for (const at of [100, 108, 116]) block.write("0000644\0", at);
  const size = fields.size ?? content.length;
  block.set(typeof size === "number" ? latin1(octal(size, 11)) : size, 124);
  block.write(octal(0o14000000000, 11), 136);
  block.write(fields.type ?? "0", 156, "latin1");
  block.write(fields.link ?? "", 157, 100, "latin1");
  block.write(fields.magic ?? "ustar\x0000", 257, "latin1");
  block.write(fields.prefix ?? "", 345, 155, "latin1");
  block.write("        ", 148);
  const sum = fields.checksum ?? block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)} `, 148);
  return block;
}

export function entry(fields: Header, content: Uint8Array): Buffer {
  return glue(header(fields, content), padTo(content, 512));
}

const END = Buffer.alloc(1024);
const note = entry({ name: "notes.txt" }, HARMLESS);
export const tarOf = (content: Buffer, name: string): Buffer => glue(entry({ name }, content), END);

/** The record of a PAX header counts its own length. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length + 1;
  while (`${length}`.length + rest.length !== length) length = `${length}`.length + rest.length;
  return `${length}${rest}`;
}

const pax = (records: Readonly<Record<string, string>>, type = "x"): Buffer =>
  entry(
    { name: "PaxHeaders/file", type },
    latin1(
      Object.entries(records)
        .map(([key, value]) => record(key, value))
        .join(""),
    ),
  );

function base256(value: number, width = 12): Buffer {
  const field = Buffer.alloc(width);
  field.writeUInt32BE(value, width - 4);
  field[0] = 0x80;
  return field;
}

const GNU = "ustar  \0";
const TAR = { extension: ".tar", readers: ["tar", "7z", "bsdtar", "python-tar", "busybox-tar"] };
const sized =
  (size: (bytes: number) => Buffer, magic?: string): Wrap =>
  (content, name) =>
    glue(note, entry({ name, size: size(content.length), ...(magic && { magic }) }, content), note, END);

const forms = containers("tar: forms and sizes", TAR, {
  ustar: { ordinary: true, wrap: tarOf },
  "of the seventh Unix": {
    ordinary: true,
    wrap: (content, name) => glue(entry({ name, magic: "", type: "\0" }, content), END),
  },
  gnu: { ordinary: true, wrap: (content, name) => glue(entry({ name, magic: GNU }, content), END) },
  pax: {
    ordinary: true,
    wrap: (content, name) => glue(pax({ mtime: "1.5", path: name }), entry({ name }, content), END),
  },
  "between others": { ordinary: true, wrap: (content, name) => glue(note, entry({ name }, content), note, END) },
  "a size in base 256": sized(base256, GNU),
  "a size in base 256, ustar": sized(base256),
  "a size padded by blanks": sized((size) => latin1(`${size.toString(8).padStart(11, " ")} `)),
  "a size with no end": sized((size) => latin1(size.toString(8).padStart(12, "0"))),
  "a size with a blank first": sized((size) => latin1(` ${size.toString(8)}\0`)),
  "a size in a PAX record": (content, name) =>
    glue(pax({ size: `${content.length}` }), entry({ name, size: 0 }, content), note, END),
  "a size in a PAX record that agrees": {
    ordinary: true,
    wrap: (content, name) => glue(pax({ size: `${content.length}` }), entry({ name }, content), END),
  },
  "a size of zero in a PAX record": (content, name) => glue(pax({ size: "0" }), entry({ name }, content), note, END),
  "a size too small in a PAX record": (content, name) => glue(pax({ size: "5" }), entry({ name }, content), END),
  "a size in a global PAX record": (content, name) =>
    glue(pax({ size: `${content.length}` }, "g"), entry({ name, size: 0 }, content), END),
  "a global PAX header": {
    ordinary: true,
    wrap: (content, name) => glue(pax({ comment: "a".repeat(40) }, "g"), entry({ name }, content), END),
  },
  "a PAX header of 60 KB": (content, name) => glue(pax({ comment: "c".repeat(60_000) }), entry({ name }, content), END),
  "a PAX header that is damaged": (content, name) =>
    glue(entry({ name: "x", type: "x" }, latin1("999999 path=a\n")), entry({ name }, content), END),
  "two PAX headers": (content, name) =>
    glue(pax({ size: "3" }), pax({ size: `${content.length}` }), entry({ name, size: 0 }, content), END),
  "a PAX header of Solaris": (content, name) => glue(pax({ path: name }, "X"), entry({ name: "short" }, content), END),
});

const ends = containers("tar: ends and gaps", TAR, {
  "no end": { ordinary: true, wrap: (content, name) => entry({ name }, content) },
  "one block at the end": {
    ordinary: true,
    wrap: (content, name) => glue(entry({ name }, content), Buffer.alloc(512)),
  },
  "no padding at the end": (content, name) => glue(header({ name }, content), content),
  "ten kilobytes of end": {
    ordinary: true,
    wrap: (content, name) => glue(entry({ name }, content), Buffer.alloc(10_240)),
  },
  "after an end": {
    readers: ["tar-zeros", "bsdtar-zeros"],
    wrap: (content, name) => glue(note, END, entry({ name }, content), END),
  },
  "after two ends": {
    readers: ["tar-zeros", "bsdtar-zeros"],
    wrap: (content, name) => glue(note, END, note, END, END, entry({ name }, content), END),
  },
  "after one block of zeros": {
    readers: ["tar-zeros", "tar", "7z", "bsdtar"],
    wrap: (content, name) => glue(note, Buffer.alloc(512), entry({ name }, content), END),
  },
  "an end first": { readers: ["tar-zeros", "tar"], wrap: (content, name) => glue(END, entry({ name }, content), END) },
  "noise behind": (content, name) => glue(tarOf(content, name), noise(3000)),
  "the payload raw behind": { readers: [], wrap: (content) => glue(note, END, content) },
  "a header with a wrong checksum first": {
    readers: ["tar", "bsdtar", "python-tar", "7z"],
    wrap: (content, name) => glue(note, entry({ name: "bad", checksum: 1 }, HARMLESS), entry({ name }, content), END),
  },
  "a block of noise between": {
    readers: ["tar", "7z"],
    wrap: (content, name) => glue(note, noise(512), entry({ name }, content), END),
  },
  "a wrong checksum of its own": {
    readers: [],
    wrap: (content, name) => glue(note, entry({ name, checksum: 1 }, content), END),
  },
  "a checksum of signed bytes": {
    ordinary: true,
    wrap: (content) => {
      const block = header({ name: "\xe9t\xe9.txt" }, content);
      const sum = block.reduce(
        (total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte > 127 ? byte - 256 : byte),
        0,
      );
      return glue(patched(block, 148, latin1(`${octal(sum, 6)} `)), padTo(content, 512), END);
    },
  },
  "cut in the last member": {
    readers: [],
    wrap: (content, name) => glue(entry({ name }, content), note).subarray(0, -300),
  },
});

const types = containers("tar: names and types", TAR, {
  "a name of GNU's long kind": {
    ordinary: true,
    wrap: (content) =>
      glue(
        entry({ name: "././@LongLink", type: "L", magic: GNU }, latin1(`${"d/".repeat(90)}file.txt\0`)),
        entry({ name: "d/", magic: GNU }, content),
        END,
      ),
  },
  "a name in two parts": {
    ordinary: true,
    wrap: (content) => glue(entry({ name: "file.txt", prefix: "long/folder" }, content), END),
  },
  "a name of a PAX record": {
    ordinary: true,
    wrap: (content) => glue(pax({ path: `${"p/".repeat(120)}f` }), entry({ name: "f" }, content), END),
  },
  "a name that leaves the folder": (content) => glue(entry({ name: "../../tmp/lazaret" }, content), END),
  "no name": { readers: ["7z", "python-tar", "bsdtar"], wrap: (content) => glue(entry({ name: "" }, content), END) },
  "a file of the old kind": {
    ordinary: true,
    wrap: (content, name) => glue(entry({ name, type: "\0" }, content), END),
  },
  "a file in one piece": (content, name) => glue(entry({ name, type: "7" }, content), END),
  "an unknown kind": (content, name) => glue(entry({ name, type: "Q" }, content), END),
  "another unknown kind": (content, name) => glue(entry({ name, type: "\xff" }, content), END),
  "a hard link with a content": {
    readers: [],
    wrap: (content, name) => glue(note, entry({ name, type: "1", link: "notes.txt" }, content), END),
  },
  "a PAX hard link with a content": {
    readers: ["7z", "bsdtar", "python-tar", "tar"],
    wrap: (content, name) =>
      glue(
        note,
        pax({ linkpath: "notes.txt", size: `${content.length}` }),
        entry({ name, type: "1", link: "notes.txt" }, content),
        END,
      ),
  },
  "a link with a content": {
    readers: [],
    wrap: (content, name) => glue(entry({ name, type: "2", link: "a" }, content), note, END),
  },
  "a folder with a content": {
    readers: [],
    wrap: (content, name) => glue(entry({ name, type: "5" }, content), note, END),
  },
  "a device with a content": {
    readers: [],
    wrap: (content, name) => glue(entry({ name, type: "3" }, content), note, END),
  },
  "a multi-volume part": (content, name) => glue(entry({ name, type: "M", magic: GNU }, content), END),
  "a volume label first": {
    ordinary: true,
    wrap: (content, name) =>
      glue(
        entry({ name: "label", type: "V", magic: GNU, size: 0 }, bytes()),
        entry({ name, magic: GNU }, content),
        END,
      ),
  },
  "a folder's list of GNU": (content, name) =>
    glue(
      entry({ name: "dir/", type: "D", magic: GNU }, latin1("Yfile\0\0")),
      entry({ name, magic: GNU }, content),
      END,
    ),
  "sparse, of GNU": {
    readers: ["tar", "7z", "bsdtar", "python-tar"],
    wrap: (content, name) => {
      const block = header({ name, type: "S", magic: GNU }, content);
      block.write(`${octal(0, 11)}${octal(content.length, 11)}`, 386);
      block.write(octal(content.length, 11), 483);
      block.write("        ", 148);
      block.write(
        `${octal(
          block.reduce((total, byte) => total + byte, 0),
          6,
        )} `,
        148,
      );
      return glue(block, padTo(content, 512), END);
    },
  },
  "sparse, of PAX": {
    readers: ["tar", "bsdtar", "python-tar"],
    wrap: (content, name) => {
      const map = padTo(latin1(`1\n0\n${content.length}\n`), 512);
      const records = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": name,
        "GNU.sparse.realsize": `${content.length}`,
      };
      return glue(pax(records), entry({ name: `GNUSparseFile.0/${name}` }, glue(map, content)), END);
    },
  },
  "a magic that nobody knows": (content, name) => glue(entry({ name, magic: "usXar\x0000" }, content), END),
  "as this machine's tar writes it": {
    ordinary: true,
    needs: ["tar"],
    wrap: (content, name) => madeBy([["tar", "-cf", "out.tar", "in"]], { content, name, target: "out.tar" }),
  },
});

export const tars: readonly Container[] = [...forms, ...ends, ...types];
