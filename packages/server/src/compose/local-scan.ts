import { fetchSource } from "../fetch/fetch-source.ts";
import { httpDownload } from "../fetch/http-download.ts";
import type { Log } from "../log.ts";
import type { Report } from "../model/report.ts";
import type { Source } from "../model/source.ts";
import { addressGuard } from "../net/address-guard.ts";
import { engineHealth } from "../pipeline/health.ts";
import { inspect } from "../pipeline/inspect.ts";
import { jobLimits } from "../pipeline/limits.ts";
import type { EngineCheck } from "../scan/engine.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { startEngineOf } from "./engine-parts.ts";
import { type ObjectStore, objectStore } from "./object-store.ts";

/** Engine and sources without a service around them: no queue, no topic, no tags, and nothing written to the data folder. */
export interface LocalScan extends AsyncDisposable {
  /** What the engine's parts say of themselves. */
  checks: readonly EngineCheck[];
  /** Then it knows test files and the rules in its folder, not the world's malware. */
  withoutClamd: boolean;
  /** From a source to its report, with the limits of jobs on size and time. */
  inspect(source: Source, signal: AbortSignal): Promise<Report>;
}

export async function startLocalScan(settings: Settings, atOnce: number, log: Log): Promise<LocalScan> {
  await using undo = new AsyncDisposableStack();
  const { engine, parts } = undo.use(await startEngineOf(settings, atOnce, { log, stays: false }));
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
  const { checks } = await engineHealth(engine);
  const disposing = undo.move();
  return {
    checks,
    withoutClamd: parts.clamd === undefined,
    inspect: (source, signal) => inspect(source, stages, { ...jobLimits(settings), signal }),
    [Symbol.asyncDispose]: () => disposing.disposeAsync(),
  };
}
