import { randomBytes } from "node:crypto";
import { constants, crc32, deflateRawSync, deflateSync } from "node:zlib";

/**
 * Files in which clamd finds the EICAR test file only if it really unpacks them: it is compressed, and where the
 * container does not compress, a gzip is what it contains. All are made at run time, or kept masked, so that neither
 * the repository nor somebody's antivirus trips.
 */
export type Way = (typeof WAYS)[number];

/** The ways of packing that clamd may show to unpack by itself. */
export const WAYS = [
  "zip/stored",
  "zip/deflated",
  "gzip",
  "bzip2",
  "xz",
  "tar",
  "mail/base64",
  "pdf/flate",
  "ole",
] as const;

/** clamd says OK to these when it could not write what it took out of them. */
export const SILENT_WHEN_FULL: ReadonlySet<string> = new Set<Way>(["mail/base64", "pdf/flate", "ole"]);

/** Our tars for clamd have no more members than this; the canary has as many, so that clamd shows to look at the last. */
export const TAR_MEMBERS = 250;

const BLOCK_BYTES = 512;
const SECTOR_BYTES = 512;
/** No clamd looks deeper than 100 layers, whatever its MaxRecursion says. */
const TOO_MANY_LAYERS = 101;
/** With the zip, the stream and the scan's folder 15 inodes; the default of MaxRecursion is 17. */
const ROOM_LAYERS = 12;
/** XOR with this keeps antivirus programs off the constants below. */
const MASK = 0x5a;
const EICAR_HALVES = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"];
/** EICAR by `bzip2 -9`. */
const BZIP2 =
  "GAAyY2sbA3wJA9wIkYlaWkVE2nwgXNo1P4UHWlh6WhLQM/pq2RUSnP34IN4JjjI+PovemG6ujoRy5UbK0lMK3bFdG1ahycD4wZa+nEi8LJPvW/h08Fa16XJZlQBDykqtouHIc5je3mjMBMI=";
/** A gzip with EICAR by `xz --check=crc32`, which does not compress 68 bytes but would keep them as they are. */
const XZ =
  "p20gAgBaWlszeIRsWFp7W0xaWloudb/5W1oNRdFSWlpaWlpapdFqrw1WCi8qVtJs01PS0Gpvi1LSiW4tLIxu9Q8rry4sVohXVCuuKStWKIsvrlGrVqlWUFeMVytXVIsvqa4rDw6riqyKWFpmlQsyHlpaWlrplwaUWls2AhwSJNbKGMNXW1paWlpbAwA=";

/** Fixed codes shift every byte: nothing of EICAR can be read without inflating. */
const FIXED = { strategy: constants.Z_FIXED };

/** What it takes to believe clamd at all: EICAR deflated in a zip. */
export function basicCanary(): Buffer {
  return zip([{ name: unique(), content: eicar(), deflated: true }]);
}

/**
 * Found only if there is room for more than it takes to scan a few plain files: each layer is a file in clamd's folder
 * while the next one is looked at, and the padding is written with the stream.
 */
export function roomCanary(paddingBytes: number): Buffer {
  let content: Buffer = eicar();
  for (let layer = 0; layer < ROOM_LAYERS; layer += 1) content = gzip(content);
  return zip([
    { name: "padding", content: randomBytes(paddingBytes), deflated: false },
    { name: unique(), content, deflated: true },
  ]);
}

/** To tell clamds that do not unpack from those that do not know EICAR. */
export function plainCanary(): Buffer {
  return eicar();
}

/** EICAR under more layers than anybody looks through: clamd must say that it did not, or its OK to a container is worth nothing. */
export function tooDeepCanary(): Buffer {
  let content: Buffer = gzip(eicar());
  // Nothing is left to hide, and to compress a hundred times would take as long as all else in a round.
  for (let layer = 1; layer < TOO_MANY_LAYERS; layer += 1) content = gzip(content, 8, asItIs);
  return content;
}

/** Each has something that no canary before it had, so that no memory of clean files answers for it. */
export const canaryFiles: Readonly<Record<Way, () => Buffer>> = {
  "zip/stored": () => zip([{ name: unique(), content: gzip(eicar()), deflated: false }]),
  "zip/deflated": () => basicCanary(),
  gzip: () => gzip(eicar()),
  bzip2: () => unmasked(BZIP2),
  xz: () => unmasked(XZ),
  tar: () => {
    const fillers = Array.from({ length: TAR_MEMBERS - 1 }, (_, index) => Buffer.from(String(index)));
    // To make a header takes a while, and these have one of three sizes.
    const headers = new Map([1, 2, 3].map((size) => [size, tarHeader(size)]));
    const members = fillers.flatMap((content) => tarMember(content, headers.get(content.length)));
    return Buffer.concat([...members, ...tarMember(gzip(eicar())), TAR_END]);
  },
  "mail/base64": () => mail(gzip(eicar())),
  "pdf/flate": () => pdf(deflateSync(eicar(), FIXED)),
  ole: () => compoundFile(gzip(eicar(), SECTOR_BYTES * 9)),
};

/** Header, content and padding of one member. */
function tarMember(content: Uint8Array, header: Uint8Array = tarHeader(content.length)): Uint8Array[] {
  return [header, content, tarPadding(content.length)];
}

export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES);

/** To clamd a member's name says nothing. */
export function tarHeader(size: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write("member", 0);
  for (const at of [100, 108, 116]) header.write("0000644\0", at);
  header.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  // The checksum counts its own field as blanks.
  header.write("        0", 148);
  header.write("ustar\x0000", 257);
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

export function tarPadding(size: number): Buffer {
  return TAR_END.subarray(0, -size & (BLOCK_BYTES - 1));
}

function eicar(): Buffer {
  return Buffer.from(EICAR_HALVES.join(""), "latin1");
}

function unique(): string {
  return randomBytes(8).toString("hex");
}

function unmasked(base64: string): Buffer {
  return Buffer.from(Buffer.from(base64, "base64").map((byte) => byte ^ MASK));
}

/** With an extra field of random bytes. */
export function gzip(content: Buffer, extraBytes = 8, packed: (content: Buffer) => Buffer = deflate): Buffer {
  const header = Buffer.from([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, extraBytes & 255, extraBytes >> 8]);
  return Buffer.concat([
    header,
    randomBytes(extraBytes),
    packed(content),
    numbers([crc32(content), content.length], 4),
  ]);
}

function deflate(content: Buffer): Buffer {
  return deflateRawSync(content, FIXED);
}

/** Deflated in name only: as one stored block, of less than 64 KiB. */
function asItIs(content: Buffer): Buffer {
  return Buffer.concat([Buffer.of(1), numbers([content.length, ~content.length & 0xffff], 2), content]);
}

interface ZipEntry {
  name: string;
  content: Buffer;
  deflated: boolean;
}

export function zip(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, content, deflated } of entries) {
    const packed = deflated ? deflateRawSync(content, FIXED) : content;
    const about = Buffer.concat([
      numbers([20, 0, deflated ? 8 : 0, 0, 0x21], 2),
      numbers([crc32(content), packed.length, content.length], 4),
      numbers([name.length, 0], 2),
    ]);
    const file = Buffer.concat([Buffer.from("PK\x03\x04"), about, Buffer.from(name), packed]);
    directory.push(
      Buffer.concat([Buffer.from("PK\x01\x02\x14\0"), about, numbers([0, 0, 0], 2), numbers([0, at], 4)]),
      Buffer.from(name),
    );
    files.push(file);
    at += file.length;
  }
  const listed = Buffer.concat(directory);
  const counts = numbers([0, 0, entries.length, entries.length], 2);
  const end = Buffer.concat([Buffer.from("PK\x05\x06"), counts, numbers([listed.length, at], 4), Buffer.alloc(2)]);
  return Buffer.concat([...files, listed, end]);
}

export function mail(attachment: Buffer): Buffer {
  const boundary = unique();
  const lines = [
    "From: canary@example.com",
    "To: clamd@example.com",
    `Message-ID: <${unique()}@example.com>`,
    "Subject: canary",
    "MIME-Version: 1.0",
    `Content-Type: multipart/mixed; boundary="${boundary}"`,
    "",
    `--${boundary}`,
    "Content-Type: application/octet-stream",
    'Content-Disposition: attachment; filename="canary"',
    "Content-Transfer-Encoding: base64",
    "",
    attachment.toString("base64"),
    `--${boundary}--`,
    "",
  ];
  return Buffer.from(lines.join("\r\n"));
}

export function pdf(stream: Buffer): Buffer {
  const head = `%PDF-1.4\n%${unique()}\n1 0 obj\n<</Type /Catalog>>\nendobj\n`;
  const begin = `2 0 obj\n<</Length ${stream.length} /Filter /FlateDecode>>\nstream\n`;
  const end = `\nendstream\nendobj\ntrailer\n<</Root 1 0 R /Size 3>>\nstartxref\n${head.length}\n%%EOF\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(begin), stream, Buffer.from(end)]);
}

/** One stream in a compound file of version 3: sector 0 is the table of sectors, 1 the directory, the rest the stream. */
export function compoundFile(stream: Buffer): Buffer {
  const sectors = Math.ceil(stream.length / SECTOR_BYTES);
  const [END, TABLE, NONE] = [0xfffffffe, 0xfffffffd, 0xffffffff] as const;

  const header = Buffer.alloc(SECTOR_BYTES, 0xff);
  const magic = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
  Buffer.concat([
    Buffer.from(magic),
    Buffer.alloc(16),
    numbers([0x3e, 3, 0xfffe, 9, 6, 0, 0, 0], 2),
    numbers([0, 1, 1, 0, 4096, END, 0, END, 0, 0], 4),
  ]).copy(header);

  const chain = Array.from({ length: sectors }, (_, index) => (index === sectors - 1 ? END : index + 3));
  const table = Buffer.alloc(SECTOR_BYTES, 0xff);
  numbers([TABLE, END, ...chain], 4).copy(table);

  const entry = (name: string, kind: number, { child, start, size }: Record<string, number>): Buffer => {
    const bytes = Buffer.alloc(128);
    bytes.write(name, 0, "utf16le");
    bytes.writeUInt16LE(name === "" ? 0 : 2 * (name.length + 1), 64);
    bytes[66] = kind;
    bytes[67] = 1;
    numbers([NONE, NONE, child ?? NONE], 4).copy(bytes, 68);
    numbers([start ?? 0, size ?? 0], 4).copy(bytes, 116);
    return bytes;
  };
  const directory = [
    entry("Root Entry", 5, { child: 1, start: END }),
    entry("Contents", 2, { start: 2, size: stream.length }),
    entry("", 0, {}),
    entry("", 0, {}),
  ];
  const padding = Buffer.alloc(sectors * SECTOR_BYTES - stream.length);
  return Buffer.concat([header, table, ...directory, stream, padding]);
}

/** Little-endian. */
function numbers(values: readonly number[], bytes: 2 | 4): Buffer {
  const target = Buffer.alloc(values.length * bytes);
  values.forEach((value, index) => {
    if (bytes === 2) target.writeUInt16LE(value, index * bytes);
    else target.writeUInt32LE(value >>> 0, index * bytes);
  });
  return target;
}
