import { createHash } from "node:crypto";
import { configuredClamd, describeAddress } from "../../engines/clamd/address.ts";
import { findClamdConf } from "../../engines/clamd/clamd-conf.ts";
import { databasesIn, isOfficial, type SignatureDatabase, sha256Of } from "../../engines/clamd/databases.ts";
import {
  type KeeperState,
  keeperFolder,
  keeperWords,
  readKeeperState,
} from "../../engines/clamd/keeper/keeper-state.ts";
import { askVersion, type ClamdVersion } from "../../engines/clamd/version.ts";
import { BUILT_IN_RULES, countRules, readRules } from "../../engines/rules/rule-files.ts";
import { timeLimit } from "../../flow/time-limit.ts";
import { ageKind } from "../../pipeline/signature-age.ts";
import type { Settings } from "../../settings.ts";
import { version as ownVersion } from "../../version.ts";

/** What is known of the signatures of a service with these settings, in the words of `--json`. */
export interface SignatureReport {
  /** Of what clamd has loaded. `unknown`: it answers, and has no official database. `none`: no clamd is there to have any. */
  state: "young" | "old" | "unknown" | "unreachable" | "none";
  /** What the state means here, and what to do about it. */
  detail: string;
  max_age_days: number;
  clamd?: { address: string; product?: string; signatures?: string; built_at?: number; error?: string };
  /** Where clamd's databases are, if that can be told; they cannot always be read. */
  folder?: string;
  databases: ShownDatabase[];
  /** Signatures that a clamd of our own does not use, because they failed their self-test. */
  refused?: { at: number; databases: string; why: string };
}

export interface ShownDatabase {
  name: string;
  of: "clamd" | "rules";
  /** Of databases that have one; rules have that of Lazaret, or none. */
  version?: string;
  built_at?: number;
  age_seconds?: number;
  /** When the file was written: of what does not say when it was built. */
  changed_at?: number;
  /** Of what has no version. */
  sha256?: string;
  signatures?: number;
  bytes?: number;
  source: string;
  /** Whether clamd works with just this version, where it can be asked. */
  loaded?: boolean;
}

export interface ReportOptions {
  now: number;
  maxAgeDays: number;
  /** clamd's databases, if they are not where its configuration says. */
  folder?: string | undefined;
  clamdSockets?: readonly string[];
}

const ANSWER_MS = 5_000;

export async function signatureReport(settings: Settings, options: ReportOptions): Promise<SignatureReport> {
  const { maxAgeDays, now } = options;
  const address = configuredClamd(settings, options.clamdSockets);
  const asked = address ? await versionAt(address) : undefined;
  const conf = address?.kind === "unix" ? findClamdConf(address)?.databaseDir : undefined;
  const folder = options.folder ?? conf ?? (settings.clamd === "own" ? settings.signaturesDir : undefined);
  const loaded = asked && "version" in asked ? asked.version : undefined;
  const found = folder === undefined ? undefined : await databasesIn(folder).catch(() => undefined);
  const shown = found
    ? await Promise.all(found.map((each) => shownDatabase(each, loaded, now)))
    : loaded?.signatures
      ? [onlyLoaded(loaded.signatures, `clamd at ${address && describeAddress(address)}`, now)]
      : [];
  const kept = settings.clamd === "own" ? readKeeperState(keeperFolder(settings.dataDir)) : undefined;
  const refused = kept?.refused && { at: kept.refused.at, databases: kept.refused.databases, why: kept.refused.why };
  return {
    ...stateOf(settings, asked, { maxAgeDays, now, kept }),
    max_age_days: maxAgeDays,
    ...(address && {
      clamd: {
        address: describeAddress(address),
        ...(loaded && { product: loaded.product }),
        ...(loaded?.signatures && { signatures: loaded.signatures.number, built_at: loaded.signatures.builtAt }),
        ...(asked && "error" in asked && { error: asked.error }),
      },
    }),
    ...(folder !== undefined && { folder }),
    databases: [...shown, ...(settings.engine === "P" ? rulesOf(settings) : [])],
    ...(refused && { refused }),
  };
}

type Asked = { version: ClamdVersion } | { error: string };

async function versionAt(address: Parameters<typeof askVersion>[0]): Promise<Asked> {
  using limit = timeLimit(ANSWER_MS);
  try {
    return { version: await askVersion(address, ANSWER_MS, limit.signal) };
  } catch (error) {
    const { message, cause } = error as Error;
    return { error: cause instanceof Error ? `${message}: ${cause.message}` : message };
  }
}

function stateOf(
  { clamd, engine }: Settings,
  asked: Asked | undefined,
  { maxAgeDays, now, kept }: { maxAgeDays: number; now: number; kept: KeeperState | undefined },
): Pick<SignatureReport, "state" | "detail"> {
  if (!asked) {
    const why = clamd === "none" ? "LAZARET_CLAMD is none" : "no clamd socket in any of the usual places";
    const without = engine === "Q" ? "engine Q has nothing to scan with" : "engine P scans with its rules alone";
    return { state: "none", detail: `${why}: ${without}` };
  }
  if ("error" in asked) {
    const why = clamd === "own" ? `${keeperWords(kept, now)} (${asked.error})` : asked.error;
    return { state: "unreachable", detail: why };
  }
  const { signatures } = asked.version;
  if (!signatures) {
    return {
      state: "unknown",
      detail: "clamd has no official database, and its signatures have no age: run freshclam",
    };
  }
  const seconds = (now - signatures.builtAt) / 1000;
  const words = `clamd has signatures ${signatures.number}, ${Math.max(0, seconds / 86_400).toFixed(1)} days old`;
  if (ageKind(seconds, maxAgeDays) === "young") return { state: "young", detail: words };
  return { state: "old", detail: `${words}, more than ${maxAgeDays}: run freshclam, and see that it runs by itself` };
}

async function shownDatabase(
  { name, path, header, bytes, changedAt }: SignatureDatabase,
  loaded: ClamdVersion | undefined,
  now: number,
): Promise<ShownDatabase> {
  const place = { name, of: "clamd" as const, bytes };
  if (!header) {
    const sha256 = await sha256Of(path).catch(() => undefined);
    return { ...place, changed_at: Math.round(changedAt), ...(sha256 !== undefined && { sha256 }), source: path };
  }
  // clamd tells the version of its daily database only.
  const isDaily = /^daily\./.test(name) && loaded !== undefined;
  return {
    ...place,
    version: String(header.version),
    built_at: header.builtAt,
    age_seconds: Math.max(0, Math.round((now - header.builtAt) / 1000)),
    signatures: header.signatures,
    source: isOfficial(name) ? `ClamAV (${header.builder}), ${path}` : path,
    ...(isDaily && { loaded: loaded.signatures?.number === String(header.version) }),
  };
}

function onlyLoaded(
  { number, builtAt }: NonNullable<ClamdVersion["signatures"]>,
  source: string,
  now: number,
): ShownDatabase {
  const age = Math.max(0, Math.round((now - builtAt) / 1000));
  return { name: "daily", of: "clamd", version: number, built_at: builtAt, age_seconds: age, source, loaded: true };
}

/** The rules that come with Lazaret, and those of the operator's own folder. */
function rulesOf({ rulesDir }: Settings): ShownDatabase[] {
  const builtIn = rulesIn(BUILT_IN_RULES, "built-in rules");
  const shown = builtIn ? [{ ...builtIn, version: ownVersion, source: "comes with Lazaret" }] : [];
  const own = rulesDir === "" ? undefined : rulesIn(rulesDir, "your rules");
  return [...shown, ...(own ? [own] : [])];
}

function rulesIn(folder: string, name: string): ShownDatabase | undefined {
  try {
    const sources = readRules(folder);
    const digest = createHash("sha256");
    for (const source of sources) digest.update(`${source.name}\0${source.text}\0`);
    return { name, of: "rules", sha256: digest.digest("hex"), signatures: countRules(sources), source: folder };
  } catch {
    // Engine P does not start without them, and says why.
    return undefined;
  }
}
