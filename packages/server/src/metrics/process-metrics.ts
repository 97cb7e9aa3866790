import { collectDefaultMetrics, Histogram, Registry } from "prom-client";
import type { Family } from "./cells.ts";

/** Of the event loop: finer would wake an idle process more often. */
const LAG_EVERY_MS = 20;

/** Made once: what prom-client watches of a process it watches until the end. */
let ofThisProcess: Registry | undefined;

/** What prom-client tells of Node and its process: processor time, memory, event loop, garbage collection, open files. */
export async function processFamilies(): Promise<Family[]> {
  if (!ofThisProcess) {
    ofThisProcess = new Registry();
    collectDefaultMetrics({ register: ofThisProcess, eventLoopMonitoringPrecision: LAG_EVERY_MS });
    const collections = ofThisProcess.getSingleMetric("nodejs_gc_duration_seconds");
    if (collections instanceof Histogram)
      for (const kind of ["minor", "major", "incremental"]) collections.zero({ kind });
  }
  const families = (await ofThisProcess.getMetricsAsJSON()) as unknown as Family[];
  return families.map(({ name, help, type, values }) => ({
    name,
    help,
    type: String(type) as Family["type"],
    values,
  }));
}
