import { AggregatorRegistry } from "prom-client";
import type { Family } from "./cells.ts";

const OF_TENANTS = /^lazaret_tenant_/;

/** As Prometheus reads them: what anybody may read, and what is told to an operator, as which tenants there are is nobody else's business. */
export async function metricsText(families: readonly Family[]): Promise<{ open: string; tenants: string }> {
  const { open = [], tenants = [] } = Object.groupBy(families, ({ name }) =>
    OF_TENANTS.test(name) ? "tenants" : "open",
  );
  return { open: await textOf(open), tenants: await textOf(tenants) };
}

/** prom-client writes plain families only as a sum, here of one; without the aggregator it would leave some out, or make an average of them. */
function textOf(families: readonly Family[]): Promise<string> {
  return AggregatorRegistry.aggregate([families.map((family) => ({ ...family, aggregator: "sum" }))]).metrics();
}
