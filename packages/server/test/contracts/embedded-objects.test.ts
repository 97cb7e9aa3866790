import { lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { versionOf } from "../../src/platforms/embedded/objects/fingerprint.ts";
import { folderObjects } from "../../src/platforms/embedded/objects/objects.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { objectWriter } from "../support/object-writer.ts";
import { objectActionsContract } from "./object-actions.ts";
import { objectListerContract, objectWatcherContract } from "./object-lister.ts";
import { objectReaderContract } from "./object-reader.ts";
import { never, type ObjectStoreKind, type ObjectStores, readAll } from "./object-stores.ts";

const bucket = "uploads";
const linkBase = "https://lazaret.example";

interface Variant {
  /** How files come into the folder: by our own writer, which can keep the older version, or as others do it. */
  put: "keeping older" | "by hand";
  throughHandles?: boolean;
  watch?: { maxFolders?: number; maxFiles?: number };
}

async function make({ put, throughHandles, watch }: Variant): Promise<ObjectStores> {
  const folder = temporaryFolder();
  const bucketsDir = join(folder.path, "buckets");
  const path = (key: string): string => join(bucketsDir, bucket, key);
  mkdirSync(path(""), { recursive: true });
  const options = { bucketsDir, ...(throughHandles !== undefined && { throughHandles }) };
  const objects = folderObjects({
    ...options,
    linkBase: () => linkBase,
    secretKey: Buffer.alloc(32, 7),
    now: Date.now,
    watch: { quietMs: 50, sweepMs: 200, ...watch },
  });
  const writer = objectWriter(options);
  let drafts = 0;
  return {
    reader: objects,
    actions: objects,
    lister: objects,
    watcher: objects,
    bucket,
    async put(key, bytes) {
      if (put !== "by hand") return await writer.put({ bucket, key }, bytes, { keepOlder: true });
      mkdirSync(dirname(path(key)), { recursive: true });
      drafts += 1;
      const draft = join(folder.path, `draft-${drafts}`);
      writeFileSync(draft, bytes);
      await rename(draft, path(key));
      return versionOf(lstatSync(path(key), { bigint: true }));
    },
    async remove(object) {
      await rm(path(object.key));
    },
    tagsOf: objects.tagsOf,
    async get(url) {
      const object = url.startsWith(linkBase) ? objects.checkLink(url.slice(linkBase.length)) : undefined;
      if (!object) return undefined;
      const found = await objects.open(object, never).catch(() => undefined);
      return found && (await readAll(found.bytes));
    },
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]();
    },
  };
}

function kind(name: string, variant: Variant): ObjectStoreKind {
  return { name, versioned: true, keepsOlder: variant.put === "keeping older", make: () => make(variant) };
}

const keeping = kind("a folder that keeps older versions", { put: "keeping older" });
const byHand = kind("a folder that others write to", { put: "by hand" });
const withoutHandles = kind("a folder where handles have no paths", { put: "by hand", throughHandles: false });

for (const each of [keeping, byHand, withoutHandles]) {
  objectReaderContract(each);
  objectActionsContract(each);
}
objectListerContract(byHand);
objectListerContract(withoutHandles);
for (const each of [
  keeping,
  byHand,
  withoutHandles,
  kind("a folder without alarms", { put: "by hand", watch: { maxFolders: 0 } }),
  kind("a folder with more new files than can wait", { put: "by hand", watch: { maxFiles: 10 } }),
]) {
  objectWatcherContract(each);
}
