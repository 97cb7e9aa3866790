import { OBJECT_LINK_HOURS } from "@lazaret/contract";
import type { ObjectRef, OpenedSource, SeenObject } from "../model/source.ts";

/** Reads objects of buckets. Each adapter passes test/contracts/object-reader.ts. */
export interface ObjectReader {
  /**
   * What is wrong with its names, for people: a bucket, key or version that this store could never have. Undefined for all
   * others. Asked before a job is accepted; opening such an object finds nothing.
   */
  problemWith(object: ObjectRef): string | undefined;
  /**
   * Opens the version that is named, else the newest. Throws `SourceFailed`, also later while bytes are read: with
   * `scanner:object-not-found` when there is no such bucket, key or version, `scanner:object-access-denied` when it may not
   * be read, `scanner:download-failed` for all else, then `passing` where another try may help. An object that changes
   * while it is read fails so, passing: its bytes are never those of two versions.
   */
  open(object: ObjectRef, signal: AbortSignal): Promise<OpenedObject>;
  /**
   * An address from which anybody can GET the object for so long: a secret. Its signature is in its query alone; nothing
   * else in the query says how to get in. Does not check whether the object is there.
   */
  link(object: ObjectRef, forSeconds: number): Promise<string>;
}

export interface OpenedObject extends OpenedSource {
  /** `version` is set whenever the store has versions, also when none was asked for. */
  object: SeenObject;
}

/** The one thing in the query of a link that is no secret: which version it leads to. */
const kept: ReadonlySet<string> = new Set(["versionid"]);

/**
 * A link without its secrets, for people and callbacks: who has it knows the object, and cannot get it. Of the query only
 * what is known to be harmless stays, so that no store's signature can be forgotten here. The path is left as it is: a
 * parser would resolve the dots in a key.
 * @internal tested by table
 */
export function linkAddress(link: string): string {
  const [address = "", query = ""] = splitOnce(link.split("#", 1)[0] ?? "", "?");
  const harmless = query.split("&").filter((parameter) => kept.has(nameOf(parameter)));
  return harmless.length === 0 ? address : `${address}?${harmless.join("&")}`;
}

function nameOf(parameter: string): string {
  return (parameter.split("=", 1)[0] ?? "").toLowerCase();
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/**
 * Where an object can be read, as callbacks tell it: its internal link without what lets one in. A store that cannot make
 * links right now keeps nobody from submitting a job; the address then only names the object.
 */
export function objectAddress(objects: Pick<ObjectReader, "link">): (object: ObjectRef) => Promise<string> {
  return async (object) => {
    const link = await objects.link(object, OBJECT_LINK_HOURS * 3600).catch(() => undefined);
    if (link !== undefined) return linkAddress(link);
    const path = [object.bucket, ...object.key.split("/")].map(encodeURIComponent).join("/");
    return `s3://${path}${object.version === undefined ? "" : `?versionId=${encodeURIComponent(object.version)}`}`;
  };
}
