import { s3Store } from "../support/s3-server/s3-store.ts";
import { objectActionsContract } from "./object-actions.ts";
import { objectListerContract } from "./object-lister.ts";
import { objectReaderContract } from "./object-reader.ts";
import type { ObjectStoreKind, ObjectStores } from "./object-stores.ts";
import "../support/leftovers.ts";

const name = "uploads";

/** What a user does is done to the server's memory; what the adapter does goes over the wire. */
async function make({ versioned }: { versioned: boolean }): Promise<ObjectStores> {
  const made = await s3Store();
  const bucket = made.server.bucket(name, versioned ? "enabled" : "never");
  return {
    reader: made.store,
    actions: made.store,
    lister: made.store,
    bucket: name,
    async put(key, bytes) {
      const { id } = bucket.put(key, Buffer.from(bytes));
      return versioned ? id : undefined;
    },
    async remove({ key, version }) {
      bucket.remove(key, version);
    },
    async tagsOf({ key, version }) {
      return Object.fromEntries(bucket.find(key, version).tags);
    },
    async get(url) {
      const answer = await fetch(url);
      const bytes = new Uint8Array(await answer.arrayBuffer());
      return answer.ok ? bytes : undefined;
    },
    [Symbol.asyncDispose]: () => made[Symbol.asyncDispose](),
  };
}

function kind(description: string, versioned: boolean): ObjectStoreKind {
  return { name: description, versioned, keepsOlder: versioned, make: () => make({ versioned }) };
}

const withVersions = kind("a bucket on S3 that has versions", true);
const without = kind("a bucket on S3 that has none", false);

for (const each of [withVersions, without]) {
  objectReaderContract(each);
  objectActionsContract(each);
}
// S3's list tells no versions: who opens what it lists gets the newest, and is told which one that was.
objectListerContract({ ...withVersions, versioned: false });
