import { compareVersions, type VersionNumber } from "./version-number.ts";

/** Variant P reports a real file type, variant Q does not. */
export type EngineVariant = "P" | "Q";

/** A scanner installation and the add-ons attached to it: their versions decide which features there are. */
export interface Installation {
  asyncAddOn: VersionNumber;
  syncAddOn: VersionNumber;
  variant: EngineVariant;
  engineVersion: VersionNumber;
}

type Bound = VersionNumber | "any";

/** What a feature needs. A part that is not named may have any version. */
export interface FeatureRow {
  /** For people. */
  what: string;
  asyncAddOn?: VersionNumber;
  syncAddOn?: VersionNumber;
  /** Engine P has every feature in some version; engine Q lacks some for ever. */
  engine?: Readonly<{ P: Bound; Q: Bound | "never" }>;
  /** Only there where that other feature is. */
  partOf?: "async" | "event.download_scan_result";
}

const headers = { Q: "2.17.0", P: "2.8.0" } as const;
const asynchronous = { Q: "2.14.0", P: "2.4.0" } as const;
const traces = { Q: "2.9.0", P: "2.0.0" } as const;
const fileTypes = { Q: "never", P: "2.18.0" } as const;
const onlyP = { Q: "never", P: "any" } as const;

/**
 * Every requirement of the spec: the table of "Versioning", the clauses of "Findings topic", and the table of "Event
 * bus". A row or clause about two fields is two features here. `add-on` without a word before it is the asynchronous.
 */
const table = {
  async: { what: "the asynchronous API as a whole", engine: asynchronous },
  "async.callbacks": { what: "callbacks", engine: asynchronous, partOf: "async" },
  "async.polling": {
    what: "polling: `trace_id` without `callback_url`, GET /api/v1/scan/async/result",
    asyncAddOn: "2.7.0",
    partOf: "async",
  },
  "async.download.download_headers": {
    what: "`download_headers` of POST /api/v1/scan/async/download",
    asyncAddOn: "2.2.1",
    engine: headers,
    partOf: "async",
  },
  "async.download.callback_headers": {
    what: "`callback_headers` of POST /api/v1/scan/async/download",
    asyncAddOn: "2.2.1",
    engine: headers,
    partOf: "async",
  },
  "async.objstore.callback_headers": {
    what: "`callback_headers` of POST /api/v1/scan/async/objstore",
    asyncAddOn: "2.7.0",
    engine: headers,
    partOf: "async",
  },
  "async.result.realfiletype": {
    what: "`realfiletype` in the result of a poll",
    asyncAddOn: "2.8.0",
    engine: onlyP,
    partOf: "async",
  },
  "callback.realfiletype": { what: "`realfiletype` in callbacks", engine: fileTypes, partOf: "async" },
  "callback.signature": {
    what: "signed callbacks: `X-Signature`, `X-Timestamp`",
    asyncAddOn: "2.11.0",
    partOf: "async",
  },
  "sync.result.realfiletype": { what: "`realfiletype` in synchronous results", syncAddOn: "2.11.0", engine: onlyP },
  test: { what: "GET /api/v1/test", asyncAddOn: "2.4.0" },
  "topic.json": { what: "JSON bodies on the findings topic", engine: { Q: "2.1.0", P: "2.0.0" } },
  "topic.size": { what: "`size` in findings and `Scan Result` events", engine: { Q: "2.13.0", P: "2.2.0" } },
  "topic.version": { what: "`version` in findings and `Scan Result` events", engine: { Q: "2.3.0", P: "2.0.0" } },
  "topic.trace_id": { what: "`trace_id` in findings and `Scan Result` events", engine: traces },
  "topic.custom_data": { what: "`custom_data` in findings and `Scan Result` events", engine: traces },
  "topic.realfiletype": { what: "`realfiletype` in findings and `Scan Result` events", engine: fileTypes },
  "topic.attribute.finding": {
    what: "`finding` as an attribute of findings",
    engine: { Q: "1.7.0", P: "2.0.0" },
  },
  "event.download_scan_result": { what: "`Download Scan Result` events", engine: { Q: "3.4.1", P: "3.4.1" } },
  "event.download_scan_result.realfiletype": {
    what: "`realfiletype` in `Download Scan Result` events",
    engine: onlyP,
    partOf: "event.download_scan_result",
  },
} as const satisfies Record<string, FeatureRow>;

export type Feature = keyof typeof table;
export const featureTable: Readonly<Record<Feature, FeatureRow>> = table;

/** What this server is, as the spec counts: the newest of all the spec names. */
export const latestAddOns = { asyncAddOn: "2.12.0", syncAddOn: "2.13.0" } as const;
export const latestEngines = { P: "3.4.1", Q: "3.4.1" } as const;

/** Why an installation lacks a feature, for people: "engine P >= 2.8.0" and "2.5.0". */
export interface Shortcoming {
  needs: string;
  declared: string;
}

/** Undefined when the installation has the feature. The whole is checked before its part. */
export function shortcoming(installation: Installation, feature: Feature): Shortcoming | undefined {
  const { asyncAddOn, syncAddOn, engine, partOf } = featureTable[feature];
  const { variant, engineVersion } = installation;
  return (
    (partOf && shortcoming(installation, partOf)) ??
    tooOld("the asynchronous add-on", asyncAddOn, installation.asyncAddOn) ??
    tooOld("the synchronous add-on", syncAddOn, installation.syncAddOn) ??
    (engine?.[variant] === "never"
      ? { needs: needed("engine P", engine.P), declared: `engine ${variant}` }
      : tooOld(`engine ${variant}`, engine?.[variant], engineVersion))
  );
}

function tooOld(part: string, needs: Bound | undefined, declared: VersionNumber): Shortcoming | undefined {
  if (needs === undefined || needs === "any" || compareVersions(declared, needs) >= 0) return undefined;
  return { needs: needed(part, needs), declared };
}

function needed(part: string, bound: Bound): string {
  return bound === "any" ? part : `${part} >= ${bound}`;
}

export function supports(installation: Installation, feature: Feature): boolean {
  const known = answered.get(installation) ?? new Map<Feature, boolean>();
  answered.set(installation, known);
  const answer = known.get(feature) ?? shortcoming(installation, feature) === undefined;
  known.set(feature, answer);
  return answer;
}

/** Asked for every message, and an installation stays as it is. */
const answered = new WeakMap<Readonly<Installation>, Map<Feature, boolean>>();

export function featuresOf(installation: Installation): Readonly<Record<Feature, boolean>> {
  const names = Object.keys(featureTable) as Feature[];
  return Object.fromEntries(names.map((name) => [name, supports(installation, name)])) as Record<Feature, boolean>;
}

/** The answer of GET /version. */
export interface VersionAnswer {
  /** Of the server itself. */
  version: string;
  async_add_on: VersionNumber;
  sync_add_on: VersionNumber;
  engine: { variant: EngineVariant; version: VersionNumber };
  /** Names of `featureTable`, sorted. */
  features: readonly Feature[];
}
