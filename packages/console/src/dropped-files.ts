import { withPath } from "./uploads.ts";

/** No folder of a reader has more by intention. */
const MOST_FILES = 10_000;

/** The files of what was dropped, those in folders included. */
export async function droppedFiles(transfer: DataTransfer): Promise<File[]> {
  // Asked for before anything is awaited: afterwards the list is empty.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return [...transfer.files];
  const files: File[] = [];
  for (const entry of entries) await collect(entry, files);
  return files;
}

async function collect(entry: FileSystemEntry, files: File[]): Promise<void> {
  if (files.length >= MOST_FILES) return;
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    files.push(withPath(file, entry.fullPath.replace(/^\//, "")));
  } else if (isFolder(entry)) {
    const reader = entry.createReader();
    // Browsers give a hundred at a time, and an empty list at the end.
    for (let some = await read(reader); some.length > 0; some = await read(reader)) {
      for (const each of some) await collect(each, files);
    }
  }
}

function read(reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> {
  return new Promise((resolve, reject) => reader.readEntries(resolve, reject));
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
