import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

interface Place {
  /** The file. */
  path: string;
  /** An empty folder. */
  out: string;
}

/** A command that reads the file: the content is its output, or lies in the folder afterwards. */
export type Program = (place: Place) => readonly string[];

const sevenZip: Program = ({ path, out }) => ["7z", "x", "-y", "-p", "-bso0", "-bsp0", `-o${out}`, path];
const shell =
  (script: string): Program =>
  ({ path, out }) => ["sh", "-c", `cd "$2" && ${script}`, "sh", path, out];

const RUBY_TAR =
  "Gem::Package::TarReader.new(File.open(ARGV[0], 'rb')).each { |entry| $stdout.write(entry.read.to_s) }";

/** Programs that people open containers with, by the names that containers call them. */
export const programs: Readonly<Record<string, Program>> = {
  "7z": sevenZip,
  "7z-any": ({ path, out }) => ["7z", "x", "-y", "-p", "-t*", "-bso0", "-bsp0", `-o${out}`, path],
  "7z-twice": sevenZip,
  "7z-thrice": sevenZip,
  "7z-as-7z": ({ path, out }) => ["7z", "x", "-y", "-t7z", "-bso0", "-bsp0", `-o${out}`, path],
  "7z-as-lzma": ({ path, out }) => ["7z", "x", "-y", "-tlzma", "-bso0", "-bsp0", `-o${out}`, path],
  "7z-as-rar5": ({ path, out }) => ["7z", "x", "-y", "-trar5", "-bso0", "-bsp0", `-o${out}`, path],
  "busybox-tar": ({ path, out }) => ["busybox", "tar", "-xf", path, "-C", out],
  "busybox-unzip": ({ path, out }) => ["busybox", "unzip", "-o", "-q", "-d", out, path],
  unzip: ({ path, out }) => ["unzip", "-o", "-q", "-P", "x", "-d", out, path],
  "unzip-pipe": ({ path }) => ["unzip", "-p", "-P", "x", path],
  bsdtar: ({ path, out }) => ["bsdtar", "-xf", path, "-C", out],
  "bsdtar-twice": ({ path, out }) => ["bsdtar", "-xf", path, "-C", out],
  "bsdtar-zeros": ({ path, out }) => ["bsdtar", "-xf", path, "-C", out, "--options", "read_concatenated_archives"],
  "bsdtar-stream": shell('cat "$1" | bsdtar -xf -'),
  "bsdtar-cat": ({ path }) => ["bsdcat", path],
  tar: ({ path, out }) => ["tar", "-xf", path, "-C", out, "--no-same-owner"],
  "ruby-tar": ({ path }) => ["ruby", "-rrubygems/package", "-e", RUBY_TAR, path],
  "tar-zeros": ({ path, out }) => ["tar", "-xif", path, "-C", out],
  gzip: ({ path }) => ["gzip", "-dc", path],
  bzip2: ({ path }) => ["bzip2", "-dc", path],
  xz: ({ path }) => ["xz", "-dc", path],
  "xz-ignore": ({ path }) => ["xz", "-dc", "--ignore-check", path],
  lzma: ({ path }) => ["xz", "-dc", "--format=lzma", path],
  lzip: ({ path }) => ["lzip", "-dc", path],
  zstd: ({ path }) => ["zstd", "-dc", "--long=31", path],
  lz4: ({ path }) => ["lz4", "-dc", path],
  brotli: ({ path }) => ["brotli", "-dc", path],
  uncompress: ({ path }) => ["uncompress", "-c", path],
  pigz: ({ path }) => ["pigz", "-dc", path],
  lzop: ({ path }) => ["lzop", "-dc", path],
  lrzip: ({ path, out }) => ["lrzip", "-q", "-d", "-o", join(out, "content"), path],
  zpaq: ({ path, out }) => ["zpaq", "x", path, "-to", out],
  ar: shell('ar x "$1"'),
  cpio: shell('cpio -idu --quiet --no-absolute-filenames < "$1"'),
  cabextract: ({ path, out }) => ["cabextract", "-q", "-d", out, path],
  arj: shell('arj x -y "$1"'),
  lha: shell('lha xq "$1"'),
  unar: ({ path, out }) => ["unar", "-q", "-p", "x", "-o", out, path],
  "unrar-free": shell('unrar-free -x "$1"'),
  unsquashfs: ({ path, out }) => ["unsquashfs", "-f", "-q", "-n", "-d", out, path],
  gpg: ({ path, out }) => ["gpg", "--homedir", out, "--batch", "-q", "-d", path],
  munpack: shell('munpack -q -f < "$1"'),
  ripmime: ({ path, out }) => ["ripmime", "-i", path, "-d", out],
  uudecode: shell('uudecode -o content "$1"'),
  uudeview: shell('uudeview -i -q -p . "$1"'),
  tnef: ({ path, out }) => ["tnef", "-C", out, "-f", path],
  pdfdetach: ({ path, out }) => ["pdfdetach", "-saveall", "-o", out, path],
  qpdf: ({ path }) => ["qpdf", "--filtered-stream-data", "--show-object=6", path],
  "qpdf-all": ({ path }) => ["qpdf", "--qdf", "--stream-data=uncompress", path, "-"],
  "mutool-clean": ({ path, out }) => ["mutool", "clean", "-d", path, join(out, "clean.pdf")],
  "dpkg-deb": ({ path, out }) => ["dpkg-deb", "-x", path, out],
  rpm2cpio: shell('rpm2cpio "$1" | cpio -idu --quiet --no-absolute-filenames'),
  msiextract: ({ path, out }) => ["msiextract", "-C", out, path],
  mtools: shell('mcopy -s -n -i "$1" "::/*" .'),
  mutool: ({ path }) => ["mutool", "show", "-b", path, "6"],
};

export function isInstalled(program: string): boolean {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
