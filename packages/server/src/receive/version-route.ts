import { type Feature, featuresOf, type Installation, type VersionAnswer } from "@lazaret/contract";
import { renderedOnce } from "./http/answer-body.ts";
import type { Endpoint, Handle } from "./route.ts";

export interface VersionHandlersOptions {
  /** Of the server itself. */
  version: string;
  installation: Installation;
}

/** What this installation is and can, for clients that talk to several; no secret, so no key is asked for. */
export const versionEndpoints: Record<"version", Endpoint> = {
  version: {
    doc: {
      group: "Service",
      summary: "Versions of this installation, and the features they have",
      description:
        "JSON: `version` of the server, `async_add_on`, `sync_add_on`, `engine` (`variant` and `version`) and `features`, a sorted list of names.",
      success: { status: 200, description: "Versions and features." },
      errors: {},
      example: "curl $LAZARET_URL/version",
    },
  },
};

export function versionHandlers({ version, installation }: VersionHandlersOptions): Record<"version", Handle> {
  const { asyncAddOn, syncAddOn, variant, engineVersion } = installation;
  const features = Object.entries(featuresOf(installation)).flatMap(([name, there]) => (there ? name : []));
  const json: VersionAnswer = {
    version,
    async_add_on: asyncAddOn,
    sync_add_on: syncAddOn,
    engine: { variant, version: engineVersion },
    features: features.sort() as Feature[],
  };
  const answer = renderedOnce({ status: 200, json });
  return { version: async () => answer };
}
