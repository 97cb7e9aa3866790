import {
  brotliCompressSync,
  constants,
  crc32,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { deflated, zip } from "../zip-writer.ts";
import {
  bytes,
  type Container,
  containers,
  glue,
  HARMLESS,
  latin1,
  madeBy,
  noise,
  patched,
  u16,
  u32,
  type Wrap,
} from "./container.ts";
import { lzip, lzmaAlone, type XzShape, xz } from "./lzma-writer.ts";
import { compressZ, lz4Frame, lz4Legacy, szdd } from "./old-coders.ts";

/** Files that are one packed stream, or several one after the other. */

const halves = (content: Buffer): [Buffer, Buffer] => {
  const half = content.length >> 1;
  return [content.subarray(0, half), content.subarray(half)];
};

interface GzipFields {
  flags?: number;
  fields?: Buffer;
  crc?: number;
  size?: number;
}

function gzip(content: Buffer, { flags = 0, fields = Buffer.alloc(0), crc, size }: GzipFields = {}): Buffer {
  const header = glue(bytes(0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3), fields);
  const check = flags & 2 ? u16(crc32(header)) : Buffer.alloc(0);
  return glue(header, check, deflateRawSync(content), u32(crc ?? crc32(content)), u32(size ?? content.length));
}

const GZIP = { extension: ".gz", readers: ["gzip", "7z", "python-gzip", "bsdtar-cat"] };
const trailingZip = zip([deflated("readme.txt", HARMLESS)]);

const gzips = containers("gzip", GZIP, {
  plain: { ordinary: true, wrap: (content) => gzip(content) },
  "with a name": { ordinary: true, wrap: (content, name) => gzip(content, { flags: 8, fields: latin1(`${name}\0`) }) },
  "with all fields": {
    ordinary: true,
    wrap: (content) => gzip(content, { flags: 0x1e, fields: glue(u16(6), "AB", u16(2), "xy", "name\0", "comment\0") }),
  },
  "with an extra field of 60 KB": (content) =>
    gzip(content, { flags: 4, fields: glue(u16(60_000), Buffer.alloc(60_000, 1)) }),
  "with a name of 60 KB": (content) => gzip(content, { flags: 8, fields: glue("n".repeat(60_000), bytes(0)) }),
  "several members": { ordinary: true, wrap: (content) => glue(...halves(content).map((half) => gzip(half))) },
  "an empty member first": (content) => glue(gzip(Buffer.alloc(0)), gzip(content)),
  "twenty empty members first": (content) =>
    glue(...Array.from({ length: 20 }, () => gzip(Buffer.alloc(0))), gzip(content)),
  "zeros behind": { ordinary: true, wrap: (content) => glue(gzip(content), Buffer.alloc(512)) },
  "noise behind": (content) => glue(gzip(content), noise(100)),
  "text behind": (content) => glue(gzip(content), "-- \r\nsent by mail\r\n"),
  "a zip behind": (content) => glue(gzip(content), trailingZip),
  "a harmless one, noise, then the payload's": {
    readers: [],
    wrap: (content) => glue(gzip(HARMLESS), noise(100), gzip(content)),
  },
  "a harmless one, zeros, then the payload's": {
    readers: ["python-gzip", "gzip"],
    wrap: (content) => glue(gzip(Buffer.alloc(0)), Buffer.alloc(512), gzip(content)),
  },
  "a harmless one, then a zip": {
    readers: ["unzip", "bsdtar", "python-zip"],
    wrap: (content, name) => glue(gzip(HARMLESS), zip([deflated(name, content)])),
  },
  "the payload raw behind": { readers: [], wrap: (content) => glue(gzip(HARMLESS), content) },
  "a wrong checksum": (content) => gzip(content, { crc: 1 }),
  "a wrong size": (content) => gzip(content, { size: 1 }),
  "no checksum": (content) => gzip(content).subarray(0, -8),
  "half a checksum": (content) => gzip(content).subarray(0, -4),
  "packed by no blocks": (content) => gzipSync(content, { level: 0 }),
});

const BZIP2 = { extension: ".bz2", readers: ["bzip2", "7z", "bsdtar-cat"], needs: ["7z"] };

function bzip2(content: Buffer, level = 9): Buffer {
  const command = ["7z", "a", "-bso0", "-bsp0", "-tbzip2", `-mx=${level}`, "out.bz2", "./in/stream"];
  return madeBy([command], { content, name: "stream", target: "out.bz2" });
}

const bzip2s = containers("bzip2", BZIP2, {
  plain: { ordinary: true, wrap: (content) => bzip2(content) },
  "level 1": { ordinary: true, wrap: (content) => bzip2(content, 1) },
  "several streams": { ordinary: true, wrap: (content) => glue(...halves(content).map((half) => bzip2(half))) },
  "an empty stream first": (content) => glue(latin1("BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0"), bzip2(content)),
  "a harmless stream first": {
    readers: [],
    wrap: (content) => glue(bzip2(HARMLESS), noise(40), bzip2(content)),
  },
  "noise behind": (content) => glue(bzip2(content), noise(100)),
  "zeros behind": (content) => glue(bzip2(content), Buffer.alloc(100)),
  "a wrong checksum": {
    readers: ["bzip2", "7z", "bsdtar-cat", "python-bz2"],
    wrap: (content) => {
      const file = bzip2(content);
      return patched(file, 11, bytes((file[11] ?? 0) ^ 1));
    },
  },
  "the payload raw behind": { readers: [], wrap: (content) => glue(bzip2(HARMLESS), content) },
});

const XZ = { extension: ".xz", readers: ["xz", "7z", "bsdtar-cat"] };
const xzAs =
  (shape: XzShape): Wrap =>
  (content) =>
    xz(content, shape);

/** Each byte as its difference to the one `distance` before. */
function delta(content: Buffer, distance: number): Buffer {
  return Buffer.from(content.map((byte, at) => byte - (at < distance ? 0 : (content[at - distance] ?? 0))));
}

const byXz = (...flags: string[]): { needs: string[]; wrap: Wrap } => ({
  needs: ["xz"],
  wrap: (content) => madeBy([["xz", "-k", ...flags, "in/stream"]], { content, name: "stream", target: "in/stream.xz" }),
});

const xzs = containers("xz", XZ, {
  "check by CRC-32": { ordinary: true, wrap: xzAs({ check: "crc32" }) },
  "check by CRC-64": { ordinary: true, wrap: xzAs({ check: "crc64", sizesInHeader: true }) },
  "check by SHA-256": { ordinary: true, wrap: xzAs({ check: "sha256" }) },
  "no check": { ordinary: true, wrap: xzAs({ check: "none" }) },
  "a check that nobody knows": xzAs({ check: "unknown" }),
  "a wrong check": { readers: ["7z", "bsdtar-cat", "xz-ignore"], wrap: xzAs({ check: "wrong" }) },
  "chunks that are not packed": { ordinary: true, wrap: xzAs({ coded: false }) },
  "the delta filter": (content) => xz(content, { filters: [[3, 0]], filtered: delta(content, 1) }),
  "the delta filter, four apart": (content) => xz(content, { filters: [[3, 3]], filtered: delta(content, 4) }),
  "two delta filters": (content) =>
    xz(content, {
      filters: [
        [3, 0],
        [3, 1],
      ],
      filtered: delta(delta(content, 1), 2),
    }),
  "the x86 filter": byXz("--x86", "--lzma2"),
  "the ARM filter": byXz("--arm", "--lzma2"),
  "the ARM64 filter": { ...byXz("--arm64", "--lzma2"), readers: ["xz", "7z"] },
  "the PowerPC filter": byXz("--powerpc", "--lzma2"),
  "several blocks": { ordinary: true, ...byXz("--block-size=128") },
  "the best there is": { ordinary: true, ...byXz("-9e") },
  "several streams": { ordinary: true, wrap: (content) => glue(...halves(content).map((half) => xz(half))) },
  "padding between streams": (content) => {
    const [first, second] = halves(content);
    return glue(xz(first), Buffer.alloc(8), xz(second));
  },
  "an empty stream first": (content) => glue(xz(Buffer.alloc(0)), xz(content)),
  "padding behind": { ordinary: true, wrap: (content) => glue(xz(content), Buffer.alloc(512)) },
  "odd padding behind": (content) => glue(xz(content), Buffer.alloc(3)),
  "noise behind": (content) => glue(xz(content), noise(100)),
  "no index": { readers: ["xz", "7z", "bsdtar-cat"], wrap: (content) => xz(content).subarray(0, -28) },
  "the payload raw behind": { readers: [], wrap: (content) => glue(xz(HARMLESS), content) },
  "a harmless stream first, noise between": {
    readers: [],
    wrap: (content) => glue(xz(HARMLESS), noise(40), xz(content)),
  },
});

const LZMA = { extension: ".lzma", readers: ["lzma", "7z", "bsdtar-cat", "python-lzma"] };

const lzmas = containers("lzma", LZMA, {
  sized: { ordinary: true, wrap: (content) => lzmaAlone(content) },
  "with an end marker": { ordinary: true, wrap: (content) => lzmaAlone(content, { sized: false }) },
  "sized, with an end marker": (content) => lzmaAlone(content, { endMarker: true }),
  "lc 0": (content) => lzmaAlone(content, { lc: 0 }),
  "lc 4, pb 0": (content) => lzmaAlone(content, { lc: 4, pb: 0 }),
  "lc 0, lp 4": (content) => lzmaAlone(content, { lc: 0, lp: 4 }),
  "lc 1, lp 2, pb 4": (content) => lzmaAlone(content, { lc: 1, lp: 2, pb: 4, sized: false }),
  "lc 8, lp 4": (content) => lzmaAlone(content, { lc: 8, lp: 4 }),
  "a dictionary of 4 KB": (content) => lzmaAlone(content, { dictionary: 1 << 12 }),
  "a dictionary of 8 MB": { ordinary: true, wrap: (content) => lzmaAlone(content, { dictionary: 1 << 23 }) },
  "a dictionary of 64 MB": (content) => lzmaAlone(content, { dictionary: 1 << 26 }),
  "a dictionary of 1.5 GB": (content) => lzmaAlone(content, { dictionary: 0x60000000 }),
  "noise behind": (content) => glue(lzmaAlone(content), noise(60)),
});

const lzips = containers(
  "lzip",
  { extension: ".lz", readers: ["lzip", "bsdtar-cat"] },
  {
    plain: { ordinary: true, wrap: (content) => lzip(content) },
    "several members": { ordinary: true, wrap: (content) => glue(...halves(content).map((half) => lzip(half))) },
    "noise behind": (content) => glue(lzip(content), noise(100)),
  },
);

const frame = (size: number): Buffer => glue(u32(0x184d2a50), u32(size), noise(size));
const zstd = (content: Buffer, parameters: Record<number, number> = {}): Buffer =>
  zstdCompressSync(content, { params: parameters });
/** One block that is not packed, and no size in the header. */
const rawZstd = (content: Buffer): Buffer => {
  const blocks: Buffer[] = [];
  for (let at = 0; at < content.length; at += 1 << 16) {
    const block = content.subarray(at, at + (1 << 16));
    const last = at + block.length === content.length ? 1 : 0;
    blocks.push(u32((block.length << 3) | last).subarray(0, 3), block);
  }
  return glue(u32(0xfd2fb528), bytes(0x00, 0x58), ...blocks);
};

const zstds = containers(
  "zstd",
  { extension: ".zst", readers: ["zstd", "7z", "bsdtar-cat"] },
  {
    plain: { ordinary: true, wrap: (content) => zstd(content) },
    "with a checksum": { ordinary: true, wrap: (content) => zstd(content, { [constants.ZSTD_c_checksumFlag]: 1 }) },
    "without its size": { ordinary: true, wrap: (content) => zstd(content, { [constants.ZSTD_c_contentSizeFlag]: 0 }) },
    "level 19": { ordinary: true, wrap: (content) => zstd(content, { [constants.ZSTD_c_compressionLevel]: 19 }) },
    "a long window": (content) =>
      zstd(content, {
        [constants.ZSTD_c_windowLog]: 28,
        [constants.ZSTD_c_enableLongDistanceMatching]: 1,
        [constants.ZSTD_c_contentSizeFlag]: 0,
      }),
    "blocks that are not packed": rawZstd,
    "several frames": { ordinary: true, wrap: (content) => glue(...halves(content).map((half) => zstd(half))) },
    "an empty frame first": (content) => glue(zstd(Buffer.alloc(0)), zstd(content)),
    "a frame to be skipped first": { ordinary: true, wrap: (content) => glue(frame(20), zstd(content)) },
    "frames to be skipped between": (content) => {
      const [first, second] = halves(content);
      return glue(frame(9), zstd(first), frame(30), frame(0), zstd(second), frame(5));
    },
    "noise behind": (content) => glue(zstd(content), noise(100)),
    "zeros behind": (content) => glue(zstd(content), Buffer.alloc(100)),
    "a wrong checksum": (content) => {
      const file = zstd(content, { [constants.ZSTD_c_checksumFlag]: 1 });
      return patched(file, file.length - 4, u32(1));
    },
    "the payload in a frame to be skipped": {
      readers: [],
      wrap: (content) => glue(zstd(HARMLESS), u32(0x184d2a53), u32(content.length), content),
    },
  },
);

const others = containers(
  "lz4, brotli, Z, zlib",
  {},
  {
    "lz4 frame": { extension: ".lz4", ordinary: true, readers: ["lz4"], wrap: (content) => lz4Frame(content) },
    "lz4 frame with its size": {
      extension: ".lz4",
      ordinary: true,
      readers: ["lz4"],
      wrap: (content) => lz4Frame(content, { withSize: true, packed: false }),
    },
    "lz4 frames": {
      extension: ".lz4",
      readers: ["lz4"],
      wrap: (content) => glue(frame(12), ...halves(content).map((half) => lz4Frame(half))),
    },
    "lz4 noise behind": { extension: ".lz4", readers: ["lz4"], wrap: (content) => glue(lz4Frame(content), noise(50)) },
    "old lz4": { extension: ".lz4", readers: ["lz4"], wrap: lz4Legacy },
    brotli: { extension: ".br", readers: ["brotli"], wrap: (content) => brotliCompressSync(content) },
    Z: { extension: ".Z", ordinary: true, readers: ["7z", "gzip", "uncompress"], wrap: compressZ },
    "Z by compress": {
      extension: ".Z",
      ordinary: true,
      needs: ["compress"],
      readers: ["7z", "gzip", "uncompress"],
      wrap: (content) => madeBy([["compress", "-f", "in/stream"]], { content, name: "stream", target: "in/stream.Z" }),
    },
    zlib: {
      extension: ".zz",
      readers: ["python-zlib", "pigz"],
      wrap: (content) => deflateSync(content),
    },
    "zlib with noise behind": {
      extension: ".zz",
      readers: ["python-zlib", "pigz"],
      wrap: (content) => glue(deflateSync(content), noise(50)),
    },
    "zlib, wrong checksum": {
      extension: ".zz",
      readers: ["python-zlib", "pigz"],
      wrap: (content) => glue(deflateSync(content).subarray(0, -4), noise(4)),
    },
    "szdd of old Windows": { extension: ".tx_", readers: ["7z"], wrap: szdd },
    lzop: {
      extension: ".lzo",
      needs: ["lzop"],
      readers: ["lzop", "bsdtar-cat"],
      wrap: (content) => madeBy([["lzop", "in/stream"]], { content, name: "stream", target: "in/stream.lzo" }),
    },
    lrzip: {
      extension: ".lrz",
      needs: ["lrzip"],
      readers: ["lrzip"],
      wrap: (content) => madeBy([["lrzip", "-q", "in/stream"]], { content, name: "stream", target: "in/stream.lrz" }),
    },
  },
);

export const streams: readonly Container[] = [...gzips, ...bzip2s, ...xzs, ...lzmas, ...lzips, ...zstds, ...others];
