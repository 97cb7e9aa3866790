import { AggregatorRegistry } from "prom-client";
import { boundedOwners } from "./bounded-owners.ts";
import type { Family, Value } from "./cells.ts";

/** What one process counts. */
export type Counts = readonly Family[];

/**
 * The metrics of several processes as those of one service: what has the same name and labels is added up. What is of a process alone,
 * such as its memory, has its number as a label.
 */
export function addUp(counts: readonly Counts[]): Counts {
  const sums = AggregatorRegistry.aggregate(counts.map((each) => each.map(summed)));
  const families = sums.getMetricsAsArray() as unknown as Family[];
  return families.map(({ name, help, type, values }) => ({ name, help, type, values: bounded(values) }));
}

/** Each process has as many tenants and keys with a label as there may be in the sum, and perhaps others than the next. */
function bounded(values: Value[]): Value[] {
  if (values[0]?.labels.tenant === undefined) return values;
  const boundedOwner = boundedOwners();
  const sums = new Map<string, Value>();
  for (const { labels, value } of values) {
    const key = labels.key === undefined ? undefined : String(labels.key);
    const owner = boundedOwner({ tenant: String(labels.tenant), key });
    const { key: _, ...others } = labels;
    const merged = { tenant: owner.tenant, ...(owner.key !== undefined && { key: owner.key }) };
    const named: Value["labels"] = { ...merged, ...others, tenant: owner.tenant };
    const id = JSON.stringify(named);
    const sum = sums.get(id);
    if (sum) sum.value += value;
    else sums.set(id, { labels: named, value });
  }
  return [...sums.values()];
}

/** What stays true of a process that is gone: what it counted, not how it stood. */
export function countersOf(counts: Counts): Counts {
  return counts.filter(({ type }) => type === "counter" || type === "histogram");
}

const OF_TENANTS = /^lazaret_tenant_/;

/** As Prometheus reads them: what anybody may read, and what is told to an operator, as which tenants there are is nobody else's business. */
export async function metricsText(counts: Counts): Promise<{ open: string; tenants: string }> {
  const { open = [], tenants = [] } = Object.groupBy(counts, ({ name }) =>
    OF_TENANTS.test(name) ? "tenants" : "open",
  );
  return { open: await textOf(open), tenants: await textOf(tenants) };
}

function textOf(counts: Counts): Promise<string> {
  return AggregatorRegistry.aggregate([counts.map(summed)]).metrics();
}

/** prom-client would leave out some of what it tells of a process, or make an average of it. */
function summed(family: Family): Family & { aggregator: "sum" } {
  return { ...family, aggregator: "sum" };
}
