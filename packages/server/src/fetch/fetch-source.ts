import type { OpenedSource, Source, UrlSource } from "../model/source.ts";
import type { ObjectReader } from "./object-reader.ts";

export interface Download {
  open(source: UrlSource, signal: AbortSignal): Promise<OpenedSource>;
}

/** Opens any source. Throws `SourceFailed` when it cannot be read, also later, while its bytes are read. */
export function fetchSource(
  download: Download,
  objects: Pick<ObjectReader, "open">,
): (source: Source, signal: AbortSignal) => Promise<OpenedSource> {
  return async (source, signal) => {
    switch (source.kind) {
      case "url":
        return download.open(source, signal);
      case "object":
        return objects.open(source, signal);
      case "upload":
        return source;
    }
  };
}
