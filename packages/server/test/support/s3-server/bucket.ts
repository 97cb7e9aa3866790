import { createHash, randomBytes } from "node:crypto";
import { Refusal } from "./refusal.ts";

export type Versioning = "never" | "enabled" | "suspended";

export interface StoredObject {
  kind: "object";
  id: string;
  bytes: Buffer;
  etag: string;
  modifiedAt: number;
  tags: ReadonlyMap<string, string>;
}

/** What a delete leaves behind where there are versions: the object seems gone, its versions stay. */
interface DeleteMarker {
  kind: "marker";
  id: string;
}

type Version = StoredObject | DeleteMarker;

export interface Bucket {
  versioning: Versioning;
  put(key: string, bytes: Buffer, tags?: ReadonlyMap<string, string>): StoredObject;
  /** The version that is named, else the newest. Refuses what is not there as S3 does. */
  find(key: string, id: string | undefined): StoredObject;
  /** What there is under that name, if anything, delete markers too. */
  peek(key: string, id?: string): Version | undefined;
  remove(key: string, id: string | undefined): Version | undefined;
  /** Keys whose newest version is an object, in the order of their UTF-8 bytes. */
  newest(): [key: string, object: StoredObject][];
}

/** The id of every object that was put while the bucket had no versions. */
const NO_VERSION = "null";

export function bucket(now: () => number): Bucket {
  const all = new Map<string, Version[]>();
  const versions = (key: string): Version[] => all.get(key) ?? [];

  /** A version without an id of its own takes the place of the last such one. */
  function add<T extends Version>(key: string, version: T): T {
    const kept = versions(key).filter(({ id }) => version.id !== NO_VERSION || id !== NO_VERSION);
    all.set(key, [...kept, version]);
    return version;
  }

  const self: Bucket = {
    versioning: "never",
    put(key, bytes, tags = new Map()) {
      const id = self.versioning === "enabled" ? randomBytes(16).toString("hex") : NO_VERSION;
      const etag = `"${createHash("md5").update(bytes).digest("hex")}"`;
      return add(key, { kind: "object", id, bytes, etag, modifiedAt: now(), tags });
    },
    find(key, id) {
      if (id !== undefined && id !== NO_VERSION && !/^[0-9a-f]{32}$/.test(id))
        throw new Refusal(400, "InvalidArgument");
      const found = self.peek(key, id);
      if (found?.kind === "object") return found;
      if (!found) throw new Refusal(404, id === undefined ? "NoSuchKey" : "NoSuchVersion");
      const marked = { "x-amz-delete-marker": "true", "x-amz-version-id": found.id };
      throw id === undefined ? new Refusal(404, "NoSuchKey", marked) : new Refusal(405, "MethodNotAllowed", marked);
    },
    peek: (key, id) => versions(key).findLast((each) => id === undefined || each.id === id),
    remove(key, id) {
      const gone = id ?? (self.versioning === "enabled" ? undefined : NO_VERSION);
      const left = versions(key).filter((each) => each.id !== gone);
      all.set(key, left);
      if (id !== undefined || self.versioning === "never") return undefined;
      const marker = self.versioning === "enabled" ? randomBytes(16).toString("hex") : NO_VERSION;
      return add(key, { kind: "marker", id: marker });
    },
    newest() {
      const keys = [...all.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      return keys.flatMap((key) => {
        const last = versions(key).at(-1);
        return last?.kind === "object" ? [[key, last]] : [];
      });
    },
  };
  return self;
}
