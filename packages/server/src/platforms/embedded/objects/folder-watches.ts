import { type FSWatcher, watch } from "node:fs";
import type { DirectoryHandle } from "./directory-handle.ts";

/**
 * Calls at once when something happens in a folder. May miss something, so that nobody should rely on it alone.
 *
 * Not Node's own watching of trees: on Linux it reads the whole tree while everything else waits, follows links, and takes
 * a watch of the kernel's for each file.
 */
export interface FolderWatches {
  /** Also when it is watched already, to say that the folder is still there. */
  watch(base: string, folder: DirectoryHandle): Promise<void>;
  /** Forgets the folders that were not named again since the last call. */
  forgetOthers(): void;
  close(): void;
}

interface Watch {
  watcher: FSWatcher;
  /** Of this folder, and of no other that has its name now, and maybe its number. */
  identity: string;
  isCurrent: boolean;
}

export interface FolderWatchesOptions {
  /** Folders beyond are not watched. */
  maxFolders: number;
  /** A file or folder came, went or changed. */
  onChange(path: string): void;
}

export function folderWatches({ maxFolders, onChange }: FolderWatchesOptions): FolderWatches {
  const watches = new Map<string, Watch>();
  let closed = false;

  function remove(base: string): void {
    watches.get(base)?.watcher.close();
    watches.delete(base);
  }

  return {
    async watch(base, folder) {
      const { ino, birthtimeNs } = await folder.stat();
      const identity = `${ino} ${birthtimeNs}`;
      const before = watches.get(base);
      if (before?.identity === identity) {
        before.isCurrent = true;
        return;
      }
      remove(base);
      if (closed || watches.size >= maxFolders) return;
      const watcher = tryToWatch(folder.path, (name) => onChange(base + name));
      if (!watcher) return;
      watcher.on("error", () => remove(base));
      watches.set(base, { watcher, identity, isCurrent: true });
    },
    forgetOthers() {
      for (const [base, watched] of watches) {
        if (!watched.isCurrent) remove(base);
        watched.isCurrent = false;
      }
    },
    close() {
      closed = true;
      for (const base of [...watches.keys()]) remove(base);
    },
  };
}

/** Undefined when the kernel has no more watches to give. */
function tryToWatch(path: string, onName: (name: string) => void): FSWatcher | undefined {
  try {
    return watch(path, (_event, name) => {
      if (name) onName(name);
    });
  } catch {
    return undefined;
  }
}
