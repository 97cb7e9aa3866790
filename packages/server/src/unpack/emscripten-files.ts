import type { SevenZipModule } from "7z-wasm";
import type { Blob } from "./blob.ts";
import type { MemberSink } from "./opener.ts";

export const ARCHIVE_PATH = "/in/archive";
export const OUTPUT_FOLDER = "/out";

/**
 * Gives the unpacker, which believes to work on files, a file system with one file to read, and a folder in which
 * whatever is written goes to the sink and is gone. Nothing it does reaches the disk: names, links and `..` in an
 * archive lead nowhere.
 */
export function mountFiles({ FS }: SevenZipModule, archive: Blob, sink: MemberSink): void {
  // The package's types leave out what a file system of one's own needs.
  const files = FS as unknown as EmscriptenFs;
  mountArchive(files, archive);
  mountOutput(files, sink);
}

interface EmscriptenFs {
  mkdir(path: string): void;
  mount(type: { mount(): FsNode }, options: object, path: string): void;
  createNode(parent: FsNode | null, name: string, mode: number, device: number): FsNode;
  destroyNode(node: FsNode): void;
  ErrnoError: new (code: number) => Error;
}

interface FsNode {
  id: number;
  mode: number;
  name: string;
  node_ops: object;
  stream_ops: object;
  size?: number;
}

interface FsStream {
  node: FsNode;
  position: number;
}

const MODE = { kind: 0o170000, folder: 0o40700, file: 0o100600, link: 0o120777 } as const;
/** Numbers of errors in WASI. */
const ERRNO = { invalid: 28, noSuchFile: 44 } as const;
const WHENCE = { current: 1, end: 2 } as const;

function mountArchive(files: EmscriptenFs, archive: Blob): void {
  const reading = {
    read: (_: FsStream, heap: Int8Array, offset: number, length: number, position: number): number =>
      archive.read(new Uint8Array(heap.buffer, heap.byteOffset + offset, length), position),
    llseek: seek(files),
  };
  files.mkdir("/in");
  files.mount(
    {
      mount() {
        const folder = node(files, null, { name: "/", mode: MODE.folder, ops: folderOps(files), stream: {} });
        const file = node(files, folder, {
          name: "archive",
          mode: MODE.file,
          ops: { getattr, setattr },
          stream: reading,
        });
        file.size = archive.size;
        return folder;
      },
    },
    {},
    "/in",
  );
}

function mountOutput(files: EmscriptenFs, sink: MemberSink): void {
  // The unpacker looks at what it has just made and sets its attributes, so the last one stays for that long.
  let last: FsNode | undefined;
  let open: FsNode | undefined;

  const writing = {
    write(stream: FsStream, heap: Int8Array, offset: number, length: number, position: number): number {
      if (stream.node !== open || position !== (stream.node.size ?? 0))
        throw new Error("the unpacker wrote out of order");
      sink.write(new Uint8Array(heap.buffer, heap.byteOffset + offset, length));
      stream.node.size = position + length;
      return length;
    },
    close(): void {
      open = undefined;
      sink.end();
    },
    llseek: seek(files),
  };
  const ops = {
    ...folderOps(files),
    mknod(parent: FsNode, name: string, mode: number): FsNode {
      // Without paths, whatever stays is in the way of all that have the same name.
      if (last) files.destroyNode(last);
      if (open) throw new Error("the unpacker opened two files at once");
      if ((mode & MODE.kind) === (MODE.folder & MODE.kind)) {
        sink.folder();
        last = node(files, parent, { name, mode, ops, stream: {} });
        return last;
      }
      last = node(files, parent, { name, mode, ops: { getattr, setattr }, stream: writing });
      last.size = 0;
      open = last;
      sink.begin(name);
      return last;
    },
    symlink(parent: FsNode, name: string, target: string): FsNode {
      // Where links cannot be made, what they lead to is the content of a file.
      sink.begin(name);
      sink.write(Buffer.from(target));
      sink.end();
      const link = { getattr, setattr, readlink: () => target };
      return node(files, parent, { name, mode: MODE.link, ops: link, stream: {} });
    },
    unlink(): void {
      last = undefined;
    },
    rename(): void {},
    rmdir(): void {},
    readdir: (): string[] => [".", ".."],
  };
  files.mkdir(OUTPUT_FOLDER);
  files.mount({ mount: () => node(files, null, { name: "/", mode: MODE.folder, ops, stream: {} }) }, {}, OUTPUT_FOLDER);
}

function node(
  files: EmscriptenFs,
  parent: FsNode | null,
  shape: { name: string; mode: number; ops: object; stream: object },
): FsNode {
  const made = files.createNode(parent, shape.name, shape.mode, 0);
  made.node_ops = shape.ops;
  made.stream_ops = shape.stream;
  return made;
}

function folderOps(files: EmscriptenFs): object {
  return {
    getattr,
    setattr,
    lookup() {
      throw new files.ErrnoError(ERRNO.noSuchFile);
    },
  };
}

function getattr(of: FsNode): object {
  const never = new Date(0);
  const { id: ino, mode, size = 0 } = of;
  const times = { atime: never, mtime: never, ctime: never };
  return { dev: 1, ino, mode, nlink: 1, uid: 0, gid: 0, rdev: 0, size, ...times, blksize: 4096, blocks: 0 };
}

function setattr(): void {}

function seek(files: EmscriptenFs) {
  return (stream: FsStream, offset: number, whence: number): number => {
    const from = whence === WHENCE.current ? stream.position : whence === WHENCE.end ? (stream.node.size ?? 0) : 0;
    if (from + offset < 0) throw new files.ErrnoError(ERRNO.invalid);
    return from + offset;
  };
}
