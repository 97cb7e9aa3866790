import { findings } from "@lazaret/contract";
import type { ObjectActions } from "../deliver/object-actions.ts";
import type { ObjectReader } from "../fetch/object-reader.ts";
import { SourceFailed } from "../model/source.ts";
import type { Settings } from "../settings.ts";

export async function objectStore(_settings: Settings): Promise<ObjectReader & ObjectActions> {
  return {
    problemWith: () => undefined,
    async open() {
      throw new SourceFailed({ finding: findings.objectNotFound, code: "none", message: "none", passing: false });
    },
    link: async () => "http://none/",
    tag: async () => "changed",
    delete: async () => "changed",
  };
}
