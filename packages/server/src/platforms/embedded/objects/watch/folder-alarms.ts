import { type FSWatcher, watch } from "node:fs";
import type { HeldFolder } from "../files/held-folder.ts";

/**
 * Tells at once of what happens in folders. May miss something, so that nobody should rely on it alone.
 *
 * Not Node's own watching of trees: on Linux it reads the whole tree while everything else waits, follows links, and takes
 * a watch of the kernel's for each file.
 */
export interface FolderAlarms {
  /** Also when it was set before, to say that the folder is still there. */
  set(base: string, folder: HeldFolder): Promise<void>;
  /** Forgets the folders that were not set again since the last call. */
  forgetOthers(): void;
  close(): void;
}

interface Alarm {
  watcher: FSWatcher;
  /** Tells a folder from another that has its name now, and maybe its number. */
  identity: string;
  isCurrent: boolean;
}

export interface FolderAlarmsOptions {
  /** Folders beyond are not watched. */
  maxFolders: number;
  /** A file or folder came, went or changed. */
  onChange(path: string): void;
}

export function folderAlarms({ maxFolders, onChange }: FolderAlarmsOptions): FolderAlarms {
  const alarms = new Map<string, Alarm>();
  let closed = false;

  function remove(base: string): void {
    alarms.get(base)?.watcher.close();
    alarms.delete(base);
  }

  return {
    async set(base, folder) {
      const { ino, birthtimeNs } = await folder.stat();
      const identity = `${ino} ${birthtimeNs}`;
      const before = alarms.get(base);
      if (before?.identity === identity) {
        before.isCurrent = true;
        return;
      }
      remove(base);
      if (closed || alarms.size >= maxFolders) return;
      const watcher = tryToWatch(folder.path, (name) => onChange(base + name));
      if (!watcher) return;
      watcher.on("error", () => remove(base));
      alarms.set(base, { watcher, identity, isCurrent: true });
    },
    forgetOthers() {
      for (const [base, alarm] of alarms) {
        if (!alarm.isCurrent) remove(base);
        alarm.isCurrent = false;
      }
    },
    close() {
      closed = true;
      for (const base of [...alarms.keys()]) remove(base);
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
