/** A piece of structure in a file, and how it is written. */
export interface Field {
  /** Fields of one group are changed as often as those of another, however many there are. */
  group: string;
  name: string;
  at: number;
  size: number;
  as: "little" | "big" | "octal" | "text" | "decimal" | "line end";
  /** A checksum over it, which may be mended. */
  checksum?: Checksum;
}

export interface Checksum {
  kind: "tar" | "7z" | "xz";
  /** Where its structure begins. */
  at: number;
}

/** Fields at fixed places behind a signature: `name@offset+size`, with a sign behind it where it is not little-endian. */
interface Layout {
  group: string;
  signature: Buffer;
  /** The structure begins so many bytes before its signature. */
  before: number;
  fields: readonly Pick<Field, "name" | "at" | "size" | "as">[];
  checksum?: Checksum["kind"];
}

const MOST = 40;

const layouts: readonly Layout[] = [
  layout(
    "zip: local header",
    "PK\x03\x04",
    "signature@0+4 version@4+2 flags@6+2 method@8+2 time@10+4 crc@14+4 packed@18+4 size@22+4 name-length@26+2 extra-length@28+2",
  ),
  layout(
    "zip: directory",
    "PK\x01\x02",
    "signature@0+4 made-by@4+2 version@6+2 flags@8+2 method@10+2 crc@16+4 packed@20+4 size@24+4 name-length@28+2 extra-length@30+2 comment-length@32+2 disk@34+2 attributes@36+2 offset@42+4",
  ),
  layout(
    "zip: end",
    "PK\x05\x06",
    "signature@0+4 disk@4+2 first-disk@6+2 here@8+2 entries@10+2 size@12+4 offset@16+4 comment-length@20+2",
  ),
  layout("zip: zip64 end", "PK\x06\x06", "size@4+8 disk@16+4 here@24+8 entries@32+8 length@40+8 offset@48+8"),
  layout("zip: zip64 locator", "PK\x06\x07", "disk@4+4 offset@8+8 disks@16+4"),
  layout("zip: descriptor", "PK\x07\x08", "signature@0+4 crc@4+4 packed@8+4 size@12+4"),
  layout("gzip", "\x1f\x8b\x08", "signature@0+2 method@2+1 flags@3+1 time@4+4 xfl@8+1 os@9+1 extra-length@10+2"),
  layout(
    "tar",
    "ustar",
    "name@0+100t mode@100+8o uid@108+8o size@124+12o time@136+12o checksum@148+8o type@156+1 link@157+100t magic@257+6t version@263+2t owner@265+32t prefix@345+155t",
    { before: 257, checksum: "tar" },
  ),
  layout(
    "7z",
    "7z\xbc\xaf\x27\x1c",
    "signature@0+6 version@6+2 start-crc@8+4 header-offset@12+8 header-size@20+8 header-crc@28+4",
    { checksum: "7z" },
  ),
  layout(
    "xz",
    "\xfd7zXZ\0",
    "signature@0+6 flags@6+2 crc@8+4 header-size@12+1 block-flags@13+1 filter@14+1 properties@16+1",
    { checksum: "xz" },
  ),
  layout("zstd", "\x28\xb5\x2f\xfd", "signature@0+4 descriptor@4+1 window@5+1 block@6+3"),
  layout("lz4", "\x04\x22\x4d\x18", "signature@0+4 flags@4+1 descriptor@5+1 checksum@6+1 block@7+4"),
  layout("bzip2", "BZh", "version@2+1 level@3+1 magic@4+6 crc@10+4 randomised@14+1"),
  layout("lzip", "LZIP", "version@4+1 dictionary@5+1"),
  layout(
    "rar 4",
    "Rar!\x1a\x07\0",
    "signature@0+7 crc@7+2 type@9+1 flags@10+2 size@12+2 file-crc@20+2 file-type@22+1 file-flags@23+2 file-size@25+2 packed@27+4 unpacked@31+4",
  ),
  layout(
    "rar 5",
    "Rar!\x1a\x07\x01\0",
    "signature@0+8 crc@8+4 size@12+1 type@13+1 flags@14+1 file-crc@17+4 file-size@21+1 file-type@22+1 file-flags@23+1",
  ),
  layout(
    "cab",
    "MSCF",
    "reserved@4+4 size@8+4 files@16+4 version@24+2 folders@26+2 count@28+2 flags@30+2 set@32+2 number@34+2 data@36+4 blocks@40+2 method@42+2 file-size@44+4 file-offset@48+4 folder@52+2",
  ),
  layout("cpio", "07070", "magic@0+6t inode@6+8t mode@14+8t size@54+8t name-length@94+8t check@102+8t"),
  layout("ar", "!<arch>\n", "magic@0+8t name@8+16t time@24+12t mode@48+8t size@56+10t end@66+2t"),
  layout(
    "lzh",
    "-lh",
    "method@0+5t packed@5+4 size@9+4 attribute@17+1 level@18+1 name-length@19+1 header-size@-2+1 checksum@-1+1",
  ),
  layout(
    "arj",
    "\x60\xea",
    "signature@0+2 size@2+2 first-size@4+1 version@5+1 minimum@6+1 host@7+1 flags@8+1 method@9+1 type@10+1 packed@16+4 unpacked@20+4",
  ),
  layout(
    "ole: header",
    "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "signature@0+8 clsid@8+4 minor@24+2 major@26+2 order@28+2 shift@30+2 small-shift@32+2 sectors@44+4 directory@48+4 cutoff@56+4 small-table@60+4 small-count@64+4 more@68+4 more-count@72+4 table@76+4 entry@512+4 entry-1@516+4 entry-2@520+4",
  ),
  layout(
    "ole: entry",
    "R\0o\0o\0t\0 \0E\0n\0t\0r\0y\0",
    "name-length@64+2 type@66+1 colour@67+1 left@68+4 right@72+4 child@76+4 start@116+4 size@120+4 next-name@128+8t next-name-length@192+2 next-type@194+1 next-left@196+4 next-right@200+4 next-start@244+4 next-size@248+4",
  ),
  layout(
    "iso: descriptor",
    "\x01CD001\x01",
    "type@0+1 id@1+5t version@6+1 sectors@80+4 block@128+2 table-size@132+4 table@140+4 root@156+1 root-extent@158+4 root-size@166+4",
  ),
  layout("udf: descriptor", "\x01NSR0", "id@1+5t version@6+1"),
  layout(
    "squashfs",
    "hsqs",
    "signature@0+4 inodes@4+4 time@8+4 block@12+4 fragments@16+4 method@20+2 log@22+2 flags@24+2 ids@26+2 major@28+2 minor@30+2 root@32+8 used@40+8 id-table@48+8 inode-table@64+8 directory@72+8",
  ),
  layout(
    "wim",
    "MSWIM\0\0\0",
    "signature@0+8 size@8+4 version@12+4 flags@16+4 chunk@20+4 part@40+2 parts@42+2 images@44+4 table@48+8 table-offset@56+8",
  ),
  layout("xar", "xar!", "size@4+2b version@6+2b packed@8+8b unpacked@16+8b checksum@24+4b"),
  layout(
    "rpm",
    "\xed\xab\xee\xdb",
    "signature@0+4 major@4+1 type@6+2b arch@8+2b os@76+2b sig-type@78+2b header@96+4 tags@104+4b bytes@108+4b",
  ),
  layout("tnef", "\x78\x9f\x3e\x22", "signature@0+4 key@4+2 level@6+1 id@7+4 length@11+4"),
  layout("chm", "ITSF", "version@4+4 size@8+4"),
  layout(
    "vhd",
    "conectix",
    "signature@0+8t features@8+4b version@12+4b offset@16+8b size@48+8b type@60+4b checksum@64+4b",
  ),
  layout("qcow2", "QFI\xfb", "version@4+4b backing@8+8b bits@20+4b size@24+8b crypt@32+4b table@40+8b"),
  layout(
    "gpt",
    "EFI PART",
    "signature@0+8t revision@8+4 size@12+4 crc@16+4 first@40+8 last@48+8 table@72+8 entries@80+4 entry@84+4 table-crc@88+4",
  ),
  layout("flash", "CWS", "signature@0+3t version@3+1 size@4+4"),
  layout(
    "png",
    "\x89PNG\r\n\x1a\n",
    "signature@0+8 length@8+4b type@12+4t width@16+4b depth@24+1 colour@25+1 crc@29+4b next@33+4b next-type@37+4t",
  ),
];

function layout(
  group: string,
  signature: string,
  fields: string,
  more: { before?: number; checksum?: Checksum["kind"] } = {},
): Layout {
  const sorts = { t: "text", o: "octal", b: "big", "": "little" } as const;
  const parsed = fields.split(" ").map((each) => {
    const [, name = "", at, size, sort = ""] = /^([\w-]+)@(-?\d+)\+(\d+)([tob]?)$/.exec(each) ?? [];
    return { name, at: Number(at), size: Number(size), as: sorts[sort as keyof typeof sorts] };
  });
  return { group, signature: Buffer.from(signature, "latin1"), before: 0, fields: parsed, ...more };
}

/** Patterns of text: the first group of each is what is changed. */
const patterns: readonly [group: string, as: Field["as"], pattern: RegExp][] = [
  ["mail: header name", "text", /^(Content-[\w-]+:|MIME-Version:|From:|Subject:)/gim],
  ["mail: header value", "text", /^(?:Content-[\w-]+|MIME-Version):[ \t]*([^\r\n]+)/gim],
  ["mail: parameter", "text", /;\s*(\w+\*?\d*\*?="?[^";\r\n]+"?)/gim],
  ["mail: boundary line", "text", /^(--[^\r\n]{1,70})\r?$/gm],
  ["mail: line of a body", "text", /^([A-Za-z0-9+/]{40,76}=?=?)\r?$/gm],
  ["mail: escape", "text", /((?:=[0-9A-F]{2}){1,3}|=\r?\n)/g],
  ["uu: line", "text", /^(begin [^\r\n]+|M[ -`]{60}|end)\r?$/gm],
  ["line end", "line end", /(\r?\n)/g],
  ["pdf: number", "decimal", /\/(?:Length|Size|Prev|N|First|Predictor|Columns|Colors|V|R)\d? (\d+)/g],
  [
    "pdf: name",
    "text",
    /(\/(?:Filter|DecodeParms|Length|Type|EmbeddedFile|EF|F|FlateDecode|ASCII85Decode|ASCIIHexDecode|LZWDecode|RunLengthDecode|Crypt|ObjStm|XRef|Root|Encrypt)\b)/g,
  ],
  ["pdf: word", "text", /\b(obj|endobj|stream|endstream|xref|trailer|startxref|%%EOF|%PDF-1\.\d)\b/g],
  ["pdf: offset", "decimal", /^(\d{10}) \d{5} [nf]/gm],
  ["pdf: start", "decimal", /startxref\s+(\d+)/g],
  ["pdf: object", "decimal", /(\d+) \d+ (?:obj|R)\b/g],
  ["rtf: word", "text", /(\\(?:\*\\)?(?:objdata|object|objemb|rtf1|bin\d+|objclass))/g],
];

/** Lists the fields of the file's structure that are known, wherever it stands. */
export function fieldsOf(file: Buffer): Field[] {
  return [...fieldsOfLayouts(file), ...fieldsOfText(file), ...fieldsOfDisk(file), ...fieldsOfEnd(file)].filter(
    ({ at, size }) => at >= 0 && at + size <= file.length,
  );
}

function fieldsOfLayouts(file: Buffer): Field[] {
  const all: Field[] = [];
  for (const { group, signature, before, fields, checksum } of layouts) {
    let count = 0;
    for (let at = file.indexOf(signature); at >= 0 && count < MOST; at = file.indexOf(signature, at + 1)) {
      const start = at - before;
      for (const field of fields) {
        const place = { group, ...field, at: start + field.at };
        all.push(checksum ? { ...place, checksum: { kind: checksum, at: start } } : place);
      }
      count += 1;
    }
  }
  return all;
}

function fieldsOfText(file: Buffer): Field[] {
  const text = file.subarray(0, 2 ** 16).toString("latin1");
  const isPdf = text.slice(0, 2_000).includes("%PDF");
  const controls = file.subarray(0, 2_000).filter((byte) => byte < 32 && (byte < 9 || byte > 13));
  if (!isPdf && controls.length > 20) return [];
  return patterns.flatMap(([group, as, pattern]) => {
    const found: Field[] = [];
    for (const match of text.matchAll(pattern)) {
      const part = match[1] ?? "";
      found.push({
        group,
        name: part.trim().slice(0, 20),
        at: match.index + match[0].indexOf(part),
        size: part.length,
        as,
      });
      if (found.length >= MOST) break;
    }
    return found;
  });
}

/** Boot sectors, partition tables and the superblock of ext. */
function fieldsOfDisk(file: Buffer): Field[] {
  const isBoot = file.length >= 4_096 && file.readUInt16LE(510) === 0xaa55;
  const isExt = file.length > 4_096 && file.readUInt16LE(1_080) === 0xef53;
  const named = (group: string, fields: string): Field[] =>
    layout(group, "", fields).fields.map((field) => ({ group, ...field }));
  return [
    ...(isBoot
      ? named(
          "boot sector",
          "jump@0+3 maker@3+8t sector@11+2 cluster@13+1 reserved@14+2 tables@16+1 entries@17+2 sectors@19+2 media@21+1 table-size@22+2 heads@26+2 hidden@28+4 large@32+4 drive@36+1 mark@38+1 serial@39+4 label@43+11t type@54+8t end@510+2 media-in-table@512+1",
        )
      : []),
    ...(isBoot
      ? named(
          "partition",
          "active@446+1 type@450+1 start@454+4 size@458+4 second-type@466+1 second-start@470+4 end@510+2",
        )
      : []),
    ...(isExt
      ? named(
          "ext",
          "inodes@1024+4 blocks@1028+4 log@1048+4 per-group@1064+4 magic@1080+2 state@1082+2 revision@1100+4 inode-size@1112+2 compatible@1116+4 incompatible@1120+4 read-only@1124+4",
        )
      : []),
  ];
}

/** Checks, sizes and marks at the very end. */
function fieldsOfEnd(file: Buffer): Field[] {
  return [4, 8, 12].map((back) => ({
    group: "end",
    name: `last-${back}`,
    at: file.length - back,
    size: 4,
    as: "little",
  }));
}
