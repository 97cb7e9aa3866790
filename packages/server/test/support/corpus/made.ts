import { type Container, containers, glue, madeBy, noise, type Wrap } from "./container.ts";
import { pdf } from "./pdfs.ts";

/** Containers that only their own programs write. */

/** Commands run in a folder where the content is at in/NAME, and make the file OUT. */
const by = (...commands: string[]): { needs: string[]; wrap: Wrap } => ({
  needs: [...new Set(commands.map((command) => command.split(" ")[0] ?? ""))],
  wrap: (content, name) =>
    madeBy(
      commands.map((command) => command.split(" ").map((word) => word.replace("NAME", name))),
      { content, name, target: "OUT" },
    ),
});

/** 7-Zip adds an ending to a name without one. */
const sevenZip = (kind: string, ...flags: string[]): { needs: string[]; wrap: Wrap } => {
  const command = ["7z", "a", "-bso0", "-bsp0", `-t${kind}`, ...flags];
  return {
    needs: ["7z"],
    wrap: (content, name) =>
      madeBy([[...command, `out.${kind}`, `./in/${name}`]], { content, name, target: `out.${kind}` }),
  };
};

const behind = (
  made: { needs: string[]; wrap: Wrap },
  prefix: Buffer,
  suffix: Buffer = Buffer.alloc(0),
): { needs: string[]; wrap: Wrap } => ({
  ...made,
  wrap: (content, name) => glue(prefix, made.wrap(content, name), suffix),
});

/** Two files in it; 7-Zip's own order. */
const together = (...flags: string[]): { needs: string[]; wrap: Wrap } => ({
  needs: ["7z"],
  wrap: (content, name) => {
    const command = ["7z", "a", "-bso0", "-bsp0", "-t7z", ...flags, "out.7z", `./in/${name}`, "out.txt"];
    const write = ["cp", "/proc/self/cmdline", "out.txt"];
    return madeBy([write, command], { content, name, target: "out.7z" });
  },
});

const SEVEN = { extension: ".7z", readers: ["7z", "bsdtar"], ordinary: true };

const sevenZips = containers("7z", SEVEN, {
  LZMA: sevenZip("7z", "-m0=LZMA"),
  LZMA2: sevenZip("7z", "-m0=LZMA2"),
  PPMd: sevenZip("7z", "-m0=PPMd"),
  BZip2: sevenZip("7z", "-m0=BZip2"),
  Deflate: sevenZip("7z", "-m0=Deflate"),
  Deflate64: sevenZip("7z", "-m0=Deflate64"),
  Copy: sevenZip("7z", "-m0=Copy"),
  "BCJ and LZMA": sevenZip("7z", "-m0=BCJ", "-m1=LZMA"),
  BCJ2: sevenZip("7z", "-m0=BCJ2", "-m1=LZMA", "-m2=LZMA", "-m3=LZMA", "-mb0:1", "-mb0s1:2", "-mb0s2:3"),
  "Delta and LZMA": sevenZip("7z", "-m0=Delta:4", "-m1=LZMA"),
  "ARM and LZMA": sevenZip("7z", "-m0=ARM", "-m1=LZMA"),
  "ARMT and LZMA2": sevenZip("7z", "-m0=ARMT", "-m1=LZMA2"),
  "PPC and BZip2": sevenZip("7z", "-m0=PPC", "-m1=BZip2"),
  "Delta and Copy": sevenZip("7z", "-m0=Delta:1", "-m1=Copy"),
  "a header that is not packed": sevenZip("7z", "-mhc=off"),
  "solid, of two": together("-ms=on"),
  "not solid, of two": together("-ms=off"),
  "a dictionary of 64 MB": sevenZip("7z", "-m0=LZMA2:d=64m"),
  "behind a program": {
    ordinary: false,
    readers: ["7z", "7z-as-7z"],
    ...behind(sevenZip("7z"), glue("MZ", noise(900))),
  },
  "noise behind": { ordinary: false, ...behind(sevenZip("7z"), Buffer.alloc(0), noise(400)) },
  encrypted: { ordinary: false, locked: true, readers: [], ...sevenZip("7z", "-psecret") },
  "encrypted, names too": { ordinary: false, locked: true, readers: [], ...sevenZip("7z", "-psecret", "-mhe=on") },
});

const bsdtar = (format: string): { needs: string[]; wrap: Wrap } => by(`bsdtar -cf OUT --format ${format} -C in NAME`);

const images = containers(
  "disk images",
  { extension: ".img", readers: ["7z", "bsdtar", "unsquashfs"], ordinary: true },
  {
    wim: { extension: ".wim", ...sevenZip("wim") },
    "wim by LZX": { extension: ".wim", ...by("wimlib-imagex capture in OUT --compress=LZX") },
    "wim by XPRESS": { extension: ".wim", ...by("wimlib-imagex capture in OUT --compress=XPRESS") },
    "wim, solid": { extension: ".esd", ...by("wimlib-imagex capture in OUT --solid") },
    "iso with Joliet and Rock Ridge": { extension: ".iso", ...by("genisoimage -quiet -J -R -o OUT in") },
    "iso of level 1": { extension: ".iso", ...by("genisoimage -quiet -iso-level 1 -o OUT in") },
    "udf bridge": { extension: ".iso", ...by("genisoimage -quiet -udf -o OUT in") },
    "iso by bsdtar": { extension: ".iso", ...bsdtar("iso9660") },
    "squashfs by gzip": { extension: ".sqfs", ...by("mksquashfs in OUT -quiet -no-progress -comp gzip") },
    "squashfs by xz": { extension: ".sqfs", ...by("mksquashfs in OUT -quiet -no-progress -comp xz") },
    "squashfs by zstd": { extension: ".sqfs", ...by("mksquashfs in OUT -quiet -no-progress -comp zstd") },
    "squashfs by lz4": { extension: ".sqfs", ...by("mksquashfs in OUT -quiet -no-progress -comp lz4") },
    "squashfs by lzo": { extension: ".sqfs", ...by("mksquashfs in OUT -quiet -no-progress -comp lzo") },
    "squashfs without fragments": {
      extension: ".sqfs",
      ...by("mksquashfs in OUT -quiet -no-progress -no-fragments -noD"),
    },
    ext2: by("truncate -s 1M OUT", "mke2fs -q -F -t ext2 -d in OUT"),
    ext4: by("truncate -s 2M OUT", "mke2fs -q -F -t ext4 -O ^has_journal -d in OUT"),
    FAT12: by("truncate -s 1440K OUT", "mformat -i OUT -f 1440 ::", "mcopy -i OUT in/NAME ::"),
    FAT16: by("truncate -s 5M OUT", "mkfs.vfat -F 16 -s 1 OUT", "mcopy -i OUT in/NAME ::"),
  },
);

const others = containers(
  "archives by their programs",
  { extension: ".bin", readers: ["7z", "bsdtar"], ordinary: true },
  {
    arj: { extension: ".arj", readers: ["7z", "arj"], ...by("arj a -e -y OUT.arj in/NAME", "mv OUT.arj OUT") },
    "cab by gcab": { extension: ".cab", ...by("gcab -c -z OUT in/NAME") },
    xar: { extension: ".xar", ...bsdtar("xar") },
    "cpio by bsdtar": { extension: ".cpio", ...bsdtar("newc") },
    "7z by bsdtar": { extension: ".7z", ...bsdtar("7zip") },
    "zip by bsdtar": { extension: ".zip", ...bsdtar("zip") },
    "zip by zip": { extension: ".zip", ...by("zip -q -r OUT.zip in", "mv OUT.zip OUT") },
    "pax by bsdtar": { extension: ".tar", ...bsdtar("pax") },
    "ar by ar": { extension: ".a", ...by("ar rcs OUT in/NAME") },
    warc: { extension: ".warc", readers: ["bsdtar"], ...bsdtar("warc") },
    "a script that unpacks itself": {
      extension: ".shar",
      readers: ["uudecode"],
      ...by("bsdtar -cf OUT --format shardump -C in NAME"),
    },
    "tar by lzma": { extension: ".tlz", readers: ["bsdtar"], ...by("tar --lzma -cf OUT in") },
    "tar by xz": { extension: ".txz", readers: ["bsdtar"], ...by("tar -cJf OUT in") },
    "tar by zstd": { extension: ".tzst", readers: ["bsdtar"], ...by("tar --zstd -cf OUT in") },
    "tar by bzip2": { extension: ".tbz", readers: ["bsdtar"], ...by("tar -cjf OUT in") },
    "tar by gzip": { extension: ".tgz", readers: ["bsdtar"], ...by("tar -czf OUT in") },
    zpaq: { extension: ".zpaq", ordinary: false, readers: ["zpaq"], ...by("zpaq a OUT.zpaq in", "mv OUT.zpaq OUT") },
    "bzip2 by pbzip2": {
      extension: ".bz2",
      readers: ["bzip2"],
      needs: ["pbzip2"],
      wrap: (content, name) => madeBy([["pbzip2", "-b1", `in/${name}`]], { content, name, target: `in/${name}.bz2` }),
    },
    "lzip by plzip": {
      extension: ".lz",
      readers: ["lzip"],
      needs: ["plzip"],
      wrap: (content, name) =>
        madeBy([["plzip", "-B", "8Ki", `in/${name}`]], { content, name, target: `in/${name}.lz` }),
    },
  },
);

/** A PDF that qpdf has written anew. */
const qpdf = (...flags: string[]): { needs: string[]; wrap: Wrap } => ({
  needs: ["qpdf"],
  wrap: (content) =>
    madeBy([["qpdf", "--allow-weak-crypto", "--warning-exit-0", ...flags, "in/a.pdf", "OUT"]], {
      content: pdf(content),
      name: "a.pdf",
      target: "OUT",
    }),
});

const pdfs = containers(
  "PDF by qpdf",
  { extension: ".pdf", readers: ["pdfdetach"], ordinary: true },
  {
    "in object streams": qpdf("--object-streams=generate"),
    linear: qpdf("--linearize"),
    "not packed": qpdf("--stream-data=uncompress"),
    // Every reader opens these without asking for a password.
    "encrypted by 40 bits of RC4, no password": qpdf("--encrypt", "", "secret", "40", "--"),
    "encrypted by 128 bits of AES, no password": qpdf("--encrypt", "", "secret", "128", "--use-aes=y", "--"),
    "encrypted by 256 bits of AES, no password": qpdf("--encrypt", "", "secret", "256", "--"),
    "encrypted, with a password": {
      ordinary: false,
      locked: true,
      readers: [],
      ...qpdf("--encrypt", "a", "b", "256", "--"),
    },
  },
);

export const made: readonly Container[] = [...sevenZips, ...images, ...others, ...pdfs];
