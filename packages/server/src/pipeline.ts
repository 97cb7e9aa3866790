import { type MeasuredBytes, measured } from "./fetch/measured-bytes.ts";
import { EngineUnavailable } from "./model/faults.ts";
import type { Report } from "./model/report.ts";
import { type OpenedSource, type Source, SourceFailed } from "./model/source.ts";
import type { Verdict } from "./model/verdict.ts";
import type { Engine } from "./scan/engine.ts";

/**
 * The way of a file:
 *
 *   receive ─▶ queue ─▶ fetch ─▶ scan ─▶ deliver
 *
 * A synchronous scan walks it without the queue: receive → fetch → scan → answer.
 */
export interface Stages {
  /** Opens a source. Throws `SourceFailed` when it cannot be read. */
  open(source: Source, signal: AbortSignal): Promise<OpenedSource>;
  engine: Engine;
  now(): number;
}

/** From a source to its report. A file that cannot be read or scanned is a report too; only faults are thrown. */
export async function inspect(
  source: Source,
  stages: Stages,
  options: { maxBytes: number; signal: AbortSignal },
): Promise<Report> {
  const { maxBytes, signal } = options;
  const started = stages.now();
  let openedAt: number | undefined;
  let bytes: MeasuredBytes | undefined;

  const report = (verdict: Verdict): Report => {
    const ended = stages.now();
    const downloadMs = (openedAt ?? ended) - started + (bytes?.waitedMs ?? 0);
    return {
      verdict,
      sizeBytes: bytes?.sizeBytes ?? 0,
      downloadSeconds: downloadMs / 1000,
      scanSeconds: Math.max(0, ended - started - downloadMs) / 1000,
    };
  };

  try {
    const opened = await stages.open(source, signal);
    openedAt = stages.now();
    bytes = measured(opened, { maxBytes, now: stages.now, signal });
    const verdict = await stages.engine.scan(bytes, signal);
    if (verdict.kind === "clean" && !bytes.complete) {
      throw new EngineUnavailable("the engine answered clean before it had read every byte");
    }
    return report(verdict);
  } catch (error) {
    if (!(error instanceof SourceFailed)) throw error;
    const { failure } = error;
    return { ...report({ kind: "unscannable", finding: failure.finding }), failure };
  }
}
