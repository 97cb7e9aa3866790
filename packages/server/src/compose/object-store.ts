import { findings } from "@lazaret/contract";
import type { ObjectActions } from "../deliver/object-actions.ts";
import type { ObjectLister, ObjectWatcher } from "../fetch/object-lister.ts";
import type { ObjectReader } from "../fetch/object-reader.ts";
import { type ObjectRef, SourceFailed } from "../model/source.ts";
import type { Settings } from "../settings.ts";

export interface ObjectStore extends ObjectReader, ObjectActions, ObjectLister, Partial<ObjectWatcher> {
  /** The object that a link of ours names. Undefined for stores whose links lead elsewhere. */
  linked?(path: string, query: URLSearchParams): ObjectRef | undefined;
  close(): Promise<void>;
}

export async function objectStore(
  _settings: Settings,
  _options: { now: () => number; ownUrl: () => string },
): Promise<ObjectStore> {
  return {
    problemWith: () => undefined,
    async open() {
      throw new SourceFailed({ finding: findings.objectNotFound, code: "none", message: "none", passing: false });
    },
    link: async () => "http://none/",
    tag: async () => "changed",
    delete: async () => "changed",
    async *list() {},
    close: async () => {},
  };
}
