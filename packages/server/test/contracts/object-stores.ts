import assert from "node:assert/strict";
import type { ObjectActions } from "../../src/deliver/object-actions.ts";
import type { ObjectLister, ObjectWatcher } from "../../src/fetch/object-lister.ts";
import type { ObjectReader, OpenedObject } from "../../src/fetch/object-reader.ts";
import { type ObjectRef, type SeenObject, SourceFailed, type SourceFailure } from "../../src/model/source.ts";

/** What a store brings to the contract suites for objects: the ports, on one empty bucket, and what only tests do. */
export interface ObjectStores extends AsyncDisposable {
  reader: ObjectReader;
  actions: ObjectActions;
  lister: ObjectLister;
  /** Only some stores can tell of new objects. */
  watcher?: ObjectWatcher;
  bucket: string;
  /** As a user of the store would write it. Answers the version, if the store has versions. */
  put(key: string, bytes: Uint8Array | string): Promise<string | undefined>;
  /** As a user would remove it for good: this version, if the store keeps several. */
  remove(object: SeenObject): Promise<void>;
  /** Of the version that is named, else of the newest. */
  tagsOf(object: ObjectRef): Promise<Record<string, string>>;
  /** GET without any credentials; undefined when it is refused or finds nothing. */
  get(url: string): Promise<Uint8Array | undefined>;
}

export interface ObjectStoreKind {
  name: string;
  make(): Promise<ObjectStores>;
  /** Objects have versions at all. */
  versioned: boolean;
  /** An object that is put again leaves its older version to be read. */
  keepsOlder: boolean;
}

export const never: AbortSignal = new AbortController().signal;

/** A bucket that nobody made. */
export const missingBucket = "nobody-made-this-bucket";

/** Keys with what is special to paths, URLs, XML, shells and Unicode, and to no store. */
export const oddKeys: readonly string[] = [
  "plain.txt",
  "a/b/c.txt",
  "with space and + and %20",
  "%2e%2e%2fetc%2fpasswd",
  "...",
  "..a/.b/c..",
  "query?x=1&y=2#fragment",
  "quotes ' \" ` and <tags> &amp; $HOME $(id) ; | *",
  "back\\slash\\..\\x",
  "semi;colon:c:/x",
  "line\nbreak\r\ttab",
  "~root",
  "-rf",
  "ünïcödé/日本語/🦠",
  "é",
  "e\u0301",
  "\ufeff\u200b\u202e",
  `long/${"x".repeat(250)}`,
  `${"ü".repeat(100)}/${"日".repeat(80)}/${"🦠".repeat(60)}`,
  `${"deep/".repeat(40)}${"x".repeat(200)}/${"y".repeat(200)}/${"z".repeat(200)}/${"1".repeat(221)}`,
];

export async function opened(stores: ObjectStores, key: string, version?: string): Promise<OpenedObject> {
  const { bucket } = stores;
  return await stores.reader.open({ bucket, key, ...(version !== undefined && { version }) }, never);
}

/** The whole object, as text. */
export async function textOf(stores: ObjectStores, key: string, version?: string): Promise<string> {
  return (await readAll((await opened(stores, key, version)).bytes)).toString();
}

export async function readAll(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(bytes));
}

/** What it fails with. */
export async function failureOf(doing: Promise<unknown>): Promise<SourceFailure> {
  const error = await doing.then(
    () => assert.fail("it did not fail"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof SourceFailed)) throw error;
  return error.failure;
}

export async function findingOf(doing: Promise<unknown>): Promise<string> {
  return (await failureOf(doing)).finding;
}
