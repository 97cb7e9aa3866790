import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const dashboardPath: string = fileURLToPath(
  new URL("../../../../deploy/grafana/dashboards/lazaret.json", import.meta.url),
);

export interface Panel {
  id: number;
  type: "row" | "stat" | "timeseries";
  title: string;
  description?: string;
  gridPos: { h: number; w: number; x: number; y: number };
  fieldConfig?: { defaults: { unit?: string } };
  targets?: { expr: string; legendFormat: string; refId: string }[];
}

export interface Dashboard {
  panels: Panel[];
  templating: { list: { name: string; query: string | { query: string } }[] };
}

export function readDashboard(): Dashboard {
  return JSON.parse(readFileSync(dashboardPath, "utf8"));
}

/** As Grafana would ask: variables have their values. */
export function asAsked(expression: string, { rate, range }: { rate: string; range: string }): string {
  return expression
    .replaceAll("$__rate_interval", rate)
    .replaceAll("$__range", range)
    .replaceAll("$job", "lazaret")
    .replaceAll("$instance", ".*");
}
