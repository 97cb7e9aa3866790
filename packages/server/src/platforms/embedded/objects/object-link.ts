import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto";
import type { ObjectRef } from "../../../model/source.ts";
import { problemWithNames } from "./buckets.ts";

export interface ObjectLinks {
  /** The path and query of an address that is good for so long. */
  make(object: ObjectRef, forSeconds: number): string;
  /** What a path and query lead to; undefined when they are not of a link that was made with this key and is still good. */
  check(pathAndQuery: string): ObjectRef | undefined;
}

const PATH = "/objects/";

/**
 * Links to objects: `/objects/<bucket>/<key>?versionId=…&expires=…&signature=…`. The signature is the only secret in them. It
 * covers all the rest and needs a key that is derived for nothing else.
 */
export function objectLinks({ secretKey, now }: { secretKey: Uint8Array; now: () => number }): ObjectLinks {
  const key = createSecretKey(createHmac("sha256", secretKey).update("lazaret object links\0").digest());

  function sign(object: ObjectRef, expires: string): Buffer {
    const signed = [object.bucket, object.key, object.version ?? null, expires];
    return createHmac("sha256", key).update(JSON.stringify(signed)).digest();
  }

  return {
    make(object, forSeconds) {
      const expires = String(Math.ceil(now() / 1000 + forSeconds));
      const query = new URLSearchParams({
        ...(object.version !== undefined && { versionId: object.version }),
        expires,
        signature: sign(object, expires).toString("hex"),
      });
      return `${PATH}${[object.bucket, ...object.key.split("/")].map(encodeURIComponent).join("/")}?${query}`;
    },

    check(pathAndQuery) {
      const [path = "", search = ""] = cutAt(pathAndQuery, "?");
      const object = objectAt(path);
      const query = new URLSearchParams(search);
      const [expires, signature, version] = ["expires", "signature", "versionId"].map((name) => query.getAll(name));
      if (!object || expires?.length !== 1 || signature?.length !== 1 || (version?.length ?? 0) > 1) return undefined;
      const named = version?.[0] === undefined ? object : { ...object, version: version[0] };
      if (problemWithNames(named)) return undefined;
      const expected = sign(named, expires[0] ?? "");
      const given = Buffer.from(signature[0] ?? "");
      const good = Buffer.from(expected.toString("hex"));
      if (given.length !== good.length || !timingSafeEqual(given, good)) return undefined;
      return now() < Number(expires[0]) * 1000 ? named : undefined;
    },
  };
}

function objectAt(path: string): ObjectRef | undefined {
  if (!path.startsWith(PATH)) return undefined;
  try {
    const [bucket = "", key = ""] = cutAt(path.slice(PATH.length), "/").map(decodeURIComponent);
    return { bucket, key };
  } catch {
    // Percent signs that stand for nothing.
    return undefined;
  }
}

function cutAt(text: string, mark: string): string[] {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
