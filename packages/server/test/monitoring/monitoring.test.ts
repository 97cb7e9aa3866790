import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { catalog } from "../../src/metrics/catalog.ts";
import { root } from "../docs/place.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { prometheusFolder, testPrometheus } from "../support/prometheus.ts";
import { until } from "../support/until.ts";
import { asAsked, dashboardPath, readDashboard } from "./dashboard.ts";
import { busyService } from "./traffic.ts";

interface Alert {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const alerts: Alert[] = parse(read("deploy/prometheus/alerts.yml")).groups.flatMap(
  ({ rules }: { rules: Alert[] }) => rules,
);

function promtool(args: readonly string[], input?: string): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync("promtool", args, { cwd: prometheusFolder, encoding: "utf8", input });
  return { status, output: `${stdout}${stderr}` };
}

/** Names of metrics in an expression, without what histograms add to theirs. */
function metricsIn(expression: string): string[] {
  return [...expression.matchAll(/\blazaret_\w+/g)].map(([name]) => name.replace(/_(?:bucket|sum|count)$/, ""));
}

test("Prometheus takes the configuration, and every alert is silent before it rings", () => {
  const config = promtool(["check", "config", "prometheus.yml"]);
  assert.equal(config.status, 0, config.output);
  const rules = promtool(["test", "rules", "alerts.test.yml"]);
  assert.equal(rules.status, 0, rules.output);
  const tried: { name: string }[] = parse(read("deploy/prometheus/alerts.test.yml")).tests;
  assert.deepEqual(
    tried.map(({ name }) => name),
    alerts.map(({ alert }) => alert),
  );
});

test("every alert has its section in the runbook and its row in the docs, and asks for metrics that there are", () => {
  assert.ok(alerts.length > 10, `only ${alerts.length} alerts`);
  const sections = [...read("docs/runbook.md").matchAll(/^## (Lazaret\w+)$/gm)].map(([, name]) => name);
  assert.deepEqual(
    sections,
    alerts.map(({ alert }) => alert),
  );
  const page = read("docs/monitoring.md");
  for (const { alert, expr, labels, annotations } of alerts) {
    assert.equal(annotations.runbook_url, `docs/runbook.md#${alert.toLowerCase()}`);
    assert.match(
      page,
      new RegExp(`^\\| \\[${alert}\\]\\(runbook\\.md#${alert.toLowerCase()}\\) \\| ${labels.severity} \\|`, "m"),
    );
    assert.deepEqual(
      metricsIn(expr).filter((name) => !Object.hasOwn(catalog, name)),
      [],
    );
  }
});

test("the dashboard is one by Grafana's own types, and no two panels lie over each other", () => {
  using folder = temporaryFolder();
  const raw = readFileSync(
    join(root, "node_modules/@grafana/schema/dist/types/raw/dashboard/x/types.gen.d.ts"),
    "utf8",
  );
  // JSON has the values of enumerations, TypeScript wants their names.
  const types = raw.replaceAll(
    /export declare enum (\w+) \{([^}]*)\}/g,
    (_, name, body) => `export type ${name} = ${body.match(/(?<== )(?:"[^"]*"|\d+)/g)?.join(" | ") ?? "never"};`,
  );
  writeFileSync(join(folder.path, "types.d.ts"), types);
  const text = `import type { Dashboard } from "./types.d.ts";\nexport const dashboard: Dashboard = `;
  writeFileSync(join(folder.path, "dashboard.ts"), `${text}${readFileSync(dashboardPath, "utf8")};\n`);
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--allowImportingTsExtensions"];
  const tsc = join(root, "node_modules/.bin/tsc");
  const checked = spawnSync(tsc, [...options, "dashboard.ts"], { cwd: folder.path, encoding: "utf8" });
  assert.equal(checked.status, 0, checked.stdout);

  const { panels } = readDashboard();
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
  );
  assert.equal(new Set(cells).size, cells.length);
});

test("Grafana's provisioning files name the dashboard's folder and a data source of Prometheus", () => {
  const { providers } = parse(read("deploy/grafana/provisioning/dashboards/lazaret.yml"));
  assert.deepEqual(providers[0].options, { path: "/var/lib/grafana/dashboards" });
  const { datasources } = parse(read("deploy/grafana/provisioning/datasources/prometheus.yml"));
  assert.deepEqual([datasources[0].type, datasources[0].access], ["prometheus", "proxy"]);
});

test("a real Prometheus has an answer for every panel, variable and alert after a little traffic", async () => {
  await using busy = await busyService();
  await using prometheus = await testPrometheus(`127.0.0.1:${busy.service.port}`);
  await until("it was asked once", async () => (await prometheus.values("up == 1")).length === 1);
  let number = 0;
  const { panels, templating } = readDashboard();
  const asked = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, query: asAsked(expr, { rate: "1m", range: "5m" }) })),
  );
  assert.ok(asked.length > 40, `only ${asked.length} queries`);
  let silent = asked;
  await until(
    "every panel shows something",
    async () => {
      await busy.round(number++);
      const answers = await Promise.all(silent.map(({ query }) => prometheus.values(query)));
      silent = silent.filter((_, index) => !answers[index]?.some(({ value }) => Number.isFinite(value)));
      return silent.length === 0;
    },
    { limitMs: 60_000 },
  ).catch((error) => assert.deepEqual(silent, [], error.message));

  for (const { name, query } of templating.list) {
    const [, series, label] =
      /^label_values\((.*), (\w+)\)$/.exec(typeof query === "string" ? query : query.query) ?? [];
    if (series === undefined || label === undefined) continue;
    const found = await prometheus.values(asAsked(series, { rate: "", range: "" }));
    assert.ok(found[0]?.labels[label], `the variable ${name} has no values`);
  }

  type Rules = { groups: { rules: { name: string; health: string; lastError?: string; state: string }[] }[] };
  await until("every alert was looked at", async () => {
    const { groups } = await prometheus.ask<Rules>("rules");
    return groups.every(({ rules }) => rules.every(({ health }) => health !== "unknown"));
  });
  const { groups } = await prometheus.ask<Rules>("rules");
  const wrong = groups
    .flatMap(({ rules }) => rules)
    .filter(({ health, state }) => health !== "ok" || state === "firing");
  assert.deepEqual(wrong, []);

  const text = await (await fetch(`${busy.service.url}/metrics`)).text();
  const { output } = promtool(["check", "metrics"], text);
  assert.deepEqual(
    output.split("\n").filter((line) => line.startsWith("lazaret_") || /^error/.test(line)),
    [],
  );
});
