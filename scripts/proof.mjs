// npm run proof: sets up the server, clamd and the programs that make and open containers, then shows all of the corpus to
// every set-up. `--list`, `--only <pattern>`, `--limit <files>`, `--control`, `--save <folder>`, `--unchecked`: proof/run.ts.
import { join } from "node:path";
import { installDebianPackages, installPackages, root, runOwnNode } from "./setup.mjs";

installPackages("run");
installDebianPackages({
  "clamav-daemon": ["clamd"],
  // They make containers, or tell us whether what we made by hand is one.
  arj: ["arj"],
  binutils: ["ar"],
  brotli: ["brotli"],
  busybox: ["busybox"],
  bzip2: ["bzip2"],
  cabextract: ["cabextract"],
  cpio: ["cpio"],
  dosfstools: ["mkfs.vfat"],
  e2fsprogs: ["mke2fs"],
  gcab: ["gcab"],
  genisoimage: ["genisoimage"],
  gnupg: ["gpg"],
  lhasa: ["lha"],
  "libarchive-tools": ["bsdtar"],
  lrzip: ["lrzip"],
  lz4: ["lz4"],
  lzip: ["lzip"],
  lzop: ["lzop"],
  mpack: ["munpack"],
  mtools: ["mformat"],
  "mupdf-tools": ["mutool"],
  ncompress: ["uncompress.real", "compress"],
  nsis: ["makensis"],
  "p7zip-full": ["7z"],
  pbzip2: ["pbzip2"],
  pigz: ["pigz"],
  plzip: ["plzip"],
  "poppler-utils": ["pdfdetach"],
  python3: ["python3"],
  qpdf: ["qpdf"],
  ripmime: ["ripmime"],
  sharutils: ["uudecode"],
  "squashfs-tools": ["mksquashfs"],
  tnef: ["tnef"],
  unar: ["unar"],
  "unrar-free": ["unrar-free"],
  unzip: ["unzip"],
  uudeview: ["uudeview"],
  wimtools: ["wimlib-imagex"],
  "xz-utils": ["xz"],
  zip: ["zip"],
  zpaq: ["zpaq"],
  zstd: ["zstd"],
});
runOwnNode([join(root, "proof", "run.ts"), ...process.argv.slice(2)]);
