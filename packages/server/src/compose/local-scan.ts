import { findings } from "@lazaret/contract";
import { startEngine } from "../engines/variants.ts";
import { fetchSource } from "../fetch/fetch-source.ts";
import { httpDownload } from "../fetch/http-download.ts";
import type { Log } from "../log.ts";
import type { Report } from "../model/report.ts";
import type { Source } from "../model/source.ts";
import { addressGuard } from "../net/address-guard.ts";
import { inspect } from "../pipeline/run-job.ts";
import type { EngineCheck } from "../scan/engine.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { cannotStartEngine } from "./cannot-start.ts";
import { engineParts } from "./engine-parts.ts";
import { type ObjectStore, objectStore } from "./object-store.ts";
import { HEALTH_TIMEOUT_MS } from "./scanning.ts";
import { temporaryFolder, withTemporaryFolder } from "./temporary-folder.ts";

/** Engine and sources without a service around them: no queue, no topic, no tags, and nothing written to the data folder. */
export interface LocalScan extends AsyncDisposable {
  /** What the engine's parts say of themselves. */
  checks: readonly EngineCheck[];
  /** Then it knows test files and the rules in its folder, not the world's malware. */
  withoutClamd: boolean;
  /** From a source to its report, with the limits of jobs on size and time. */
  inspect(source: Source, signal: AbortSignal): Promise<Report>;
}

const MIB = 1024 * 1024;

export async function startLocalScan(settings: Settings, atOnce: number, log: Log): Promise<LocalScan> {
  await using undo = new AsyncDisposableStack();
  const parts = engineParts(settings, atOnce, { log, stays: false });
  const folder = undo.use(await temporaryFolder());
  const engine = await startEngine(withTemporaryFolder(parts, folder.path)).catch((error: Error) => {
    throw cannotStartEngine(settings, error);
  });
  undo.defer(() => engine.close());
  const guard = addressGuard({ allowNetworks: settings.allowNetworks, allowHosts: settings.allowHosts });
  const download = httpDownload({ guard, version });
  undo.defer(() => download.close());

  // Opened only when there is an object to read: a store of folders has its secret in the data folder.
  let objects: Promise<ObjectStore> | undefined;
  undo.defer(async () => (await objects?.catch(() => undefined))?.close());
  const openObject: ObjectStore["open"] = async (object, signal) => {
    objects ??= objectStore(settings, { now: Date.now, ownUrl: () => settings.publicUrl });
    return (await objects).open(object, signal);
  };

  const stages = { open: fetchSource(download, { open: openObject }), engine, now: () => performance.now() };
  const { checks } = await engine.health(AbortSignal.timeout(HEALTH_TIMEOUT_MS));
  const all = undo.move();
  return {
    checks,
    withoutClamd: parts.clamd === undefined,
    async inspect(source, signal) {
      const limit = AbortSignal.timeout(settings.jobTimeoutSeconds * 1000);
      const limits = { maxBytes: settings.jobMaxMib * MIB, signal: AbortSignal.any([signal, limit]) };
      try {
        return await inspect(source, stages, limits);
      } catch (error) {
        if (!limit.aborted || signal.aborted) throw error;
        const verdict = { kind: "unscannable", finding: findings.timeout } as const;
        return { verdict, sizeBytes: 0, downloadSeconds: settings.jobTimeoutSeconds, scanSeconds: 0 };
      }
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
