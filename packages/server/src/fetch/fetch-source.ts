import { hash, randomUUID } from "node:crypto";
import { findings } from "@lazaret/contract";
import { type ObjectRef, type OpenedSource, type Source, SourceFailed, type UrlSource } from "../model/source.ts";
import type { Span } from "../traces/spans.ts";
import type { ObjectReader } from "./object-reader.ts";

export interface Download {
  open(source: UrlSource, signal: AbortSignal, span?: Span): Promise<OpenedSource>;
}

/** Opens any source. Throws `SourceFailed` when it cannot be read, also later, while its bytes are read. */
export function fetchSource(
  download: Download,
  objects: Pick<ObjectReader, "open">,
): (source: Source, signal: AbortSignal, span?: Span) => Promise<OpenedSource> {
  const unguessable = randomUUID();

  /**
   * Asks the store for a bucket that it does not have: what follows, and how long that takes, is then the store's answer for such a
   * bucket, whatever that is. For one bucket it is always the same name, as a client would ask.
   */
  async function openMissing(object: ObjectRef, signal: AbortSignal): Promise<never> {
    const bucket = `closed-${hash("sha256", `${unguessable} ${object.bucket}`).slice(0, 40)}`;
    const { bytes } = await objects.open({ ...object, bucket }, signal);
    await bytes[Symbol.asyncIterator]().return?.();
    throw new SourceFailed({
      finding: findings.objectNotFound,
      code: "ENOENT",
      message: "there is no such bucket",
      passing: false,
    });
  }

  return async (source, signal, span) => {
    switch (source.kind) {
      case "url":
        return download.open(source, signal, span);
      case "object":
        if (source.closed) return openMissing(source, signal);
        return objects.open(source, signal);
      case "upload":
        return source;
    }
  };
}
