import { OBJECT_LINK_HOURS } from "@lazaret/contract";
import { linkAddress, type ObjectReader } from "../fetch/object-reader.ts";
import type { ObjectRef } from "../model/source.ts";

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
