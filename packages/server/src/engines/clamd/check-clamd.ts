import type { EngineCheck, EngineDatabase } from "../../scan/engine.ts";
import { type ClamdAddress, describeAddress } from "./address.ts";
import { findClamdConf } from "./clamd-conf.ts";
import { databasesIn } from "./databases.ts";
import { askVersion, type ClamdVersion, signatureWords } from "./version.ts";

export const CONNECT_TIMEOUT_MS = 5_000;

/** Whether clamd answers, and what it says of itself. */
export async function checkClamd(
  address: ClamdAddress,
  options: { signal: AbortSignal; now: number },
): Promise<{ check: EngineCheck; version?: ClamdVersion }> {
  try {
    const version: ClamdVersion = await askVersion(address, CONNECT_TIMEOUT_MS, options.signal);
    const { signatures } = version;
    const words = signatureWords(version, options.now);
    const check = {
      name: "clamd",
      ok: true,
      detail: `${version.product} at ${describeAddress(address)}, ${words}`,
      ...(signatures && { signatureAgeSeconds: Math.max(0, (options.now - signatures.builtAt) / 1000) }),
    };
    return { check, version };
  } catch (error) {
    return { check: { name: "clamd", ok: false, detail: wordsOf(error) } };
  }
}

/** None where its folder is not ours to read. */
export async function databasesOf(address: ClamdAddress): Promise<EngineDatabase[]> {
  const folder = address.kind === "unix" ? findClamdConf(address)?.databaseDir : undefined;
  const found = folder === undefined ? [] : await databasesIn(folder).catch(() => []);
  return found.map(({ name, header }) => ({
    name,
    ...(header && { version: header.version, builtAt: header.builtAt }),
  }));
}

export function wordsOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `${error instanceof Error ? error.message : String(error)}${cause}`;
}
