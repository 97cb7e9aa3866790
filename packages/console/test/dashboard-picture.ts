import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { root } from "../../server/test/docs/place.ts";
import { asAsked, type Panel, readDashboard } from "../../server/test/monitoring/dashboard.ts";
import { busyService } from "../../server/test/monitoring/traffic.ts";
import { startBrowser, watchedPage } from "../../server/test/support/browser.ts";
import { testPrometheus } from "../../server/test/support/prometheus.ts";

/**
 * Not a test, although it runs as one: a picture of the dashboard for the docs. Grafana has no Debian package, so a page of our own draws
 * the panels of the dashboard's file with what a real Prometheus answers to their queries.
 */

const SECONDS = Number(process.env.SECONDS ?? 240);
const STEP_SECONDS = 2;
const picture = join(root, "docs/pictures/dashboard.png");

/** The lines of a panel: one list of values for each, and for all of them the times. */
interface Drawn extends Pick<Panel, "type" | "title" | "gridPos"> {
  unit: string;
  times: number[];
  lines: { name: string; values: (number | null)[] }[];
}

test("the dashboard, as the docs show it", async () => {
  await using busy = await busyService();
  await using prometheus = await testPrometheus(`127.0.0.1:${busy.service.port}`);
  const began = Date.now();
  for (let number = 0; Date.now() - began < SECONDS * 1000; number += 1) {
    await busy.round(number);
    await pause(350 + 300 * Math.sin(number / 25));
  }
  const end = Math.floor(Date.now() / 1000);
  const times = Array.from(
    { length: Math.floor(SECONDS / STEP_SECONDS) },
    (_, at) => end - SECONDS + at * STEP_SECONDS,
  );

  async function drawn(panel: Panel): Promise<Drawn> {
    type Matrix = { result: { metric: Record<string, string>; values: [number, string][] }[] };
    const { type, title, gridPos, targets = [] } = panel;
    const lines: Drawn["lines"] = [];
    for (const { expr, legendFormat } of targets) {
      const { result } = await prometheus.ask<Matrix>("query_range", {
        query: asAsked(expr, { rate: "20s", range: `${SECONDS}s` }),
        start: String(times[0]),
        end: String(times.at(-1)),
        step: String(STEP_SECONDS),
      });
      for (const { metric, values } of result) {
        const at = new Map(values.map(([time, value]) => [time, Number(value)]));
        const all = times.map((time) => (Number.isFinite(at.get(time)) ? (at.get(time) ?? null) : null));
        if (all.every((value) => value === null)) continue;
        lines.push({ name: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label) => metric[label] ?? ""), values: all });
      }
    }
    return { type, title, gridPos, unit: panel.fieldConfig?.defaults.unit ?? "short", times, lines };
  }
  const panels: Drawn[] = [];
  for (const panel of readDashboard().panels) panels.push(await drawn(panel));

  const browser = await startBrowser();
  try {
    await using watched = await watchedPage(browser, { viewport: { width: 1500, height: 900 } });
    const { page, complaints } = watched;
    await page.setContent(pageWith(panels));
    await page.waitForSelector("body.drawn");
    if (complaints.length > 0) throw new Error(complaints.join("; "));
    await page.screenshot({ path: picture, fullPage: true });
  } finally {
    await browser.close();
  }
});

function pageWith(panels: readonly Drawn[]): string {
  const uplot = join(root, "node_modules/uplot/dist");
  const script = readFileSync(join(uplot, "uPlot.iife.min.js"), "utf8");
  const css = readFileSync(join(uplot, "uPlot.min.css"), "utf8");
  return `<!doctype html><meta charset="utf-8"><style>${css}
    body { margin: 0; background: #f4f5f5; font: 12px sans-serif; color: #24292e }
    #all { position: relative; width: 1488px; margin: 6px }
    .panel { position: absolute; box-sizing: border-box; background: #fff; border: 1px solid #dcdfe3; padding: 6px 8px; overflow: hidden }
    .row { background: none; border: 0; font-weight: 600; font-size: 14px; padding: 8px 2px }
    h2 { margin: 0 0 2px; font-size: 12px; font-weight: 600 }
    .value { font-size: 26px; text-align: center; padding-top: 18px; color: #1a7f37 }
    .legend { display: flex; flex-wrap: wrap; gap: 0 10px; font-size: 11px; height: 30px; overflow: hidden }
  </style><div id="all"></div><script>${script}</script>
  <script>const panels = ${JSON.stringify(panels)}; (${drawPage.toString()})(panels);</script>`;
}

/** Runs in the page. */
function drawPage(panels: Drawn[]): void {
  interface Page {
    uPlot: new (options: object, data: unknown[], place: HTMLElement) => unknown;
  }
  const { uPlot } = globalThis as unknown as Page;
  const colours = ["#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1", "#ba43a9", "#705da0", "#508642"];
  const column = 62;
  const line = 30;
  const scaled = (value: number, step: number, units: string[]): string => {
    let at = 0;
    let left = value;
    while (Math.abs(left) >= step && at < units.length - 1) {
      left /= step;
      at += 1;
    }
    return `${Number(left.toPrecision(3))} ${units[at]}`.trim();
  };
  const shown = (value: number, unit: string): string => {
    if (unit === "percentunit") return `${Number((value * 100).toPrecision(3))} %`;
    if (unit === "bytes" || unit === "Bps")
      return scaled(value, 1024, ["B", "KiB", "MiB", "GiB"]) + (unit === "Bps" ? "/s" : "");
    if (unit === "s" && value >= 86_400) return `${Number((value / 86_400).toPrecision(3))} d`;
    if (unit === "s" && value > 0 && value < 1) return `${Number((value * 1000).toPrecision(3))} ms`;
    return `${Number(value.toPrecision(3))}${unit === "s" ? " s" : unit === "short" ? "" : "/s"}`;
  };
  const all = document.getElementById("all") as HTMLElement;
  let bottom = 0;
  for (const { type, title, gridPos, unit, times, lines } of panels) {
    const { x, y, w, h } = gridPos;
    bottom = Math.max(bottom, (y + h) * line);
    const box = document.createElement("div");
    box.className = type === "row" ? "panel row" : "panel";
    box.style.cssText = `left:${x * column}px;top:${y * line}px;width:${w * column - 6}px;height:${h * line - 6}px`;
    all.append(box);
    if (type === "row") {
      box.textContent = title;
      continue;
    }
    const head = document.createElement("h2");
    head.textContent = title;
    box.append(head);
    if (type === "stat") {
      const value = document.createElement("div");
      value.className = "value";
      const [first] = lines;
      value.textContent =
        title === "Version" ? (first?.name ?? "") : shown(first?.values.findLast((each) => each !== null) ?? 0, unit);
      box.append(value);
      continue;
    }
    const place = document.createElement("div");
    box.append(place);
    const coloured = lines.map((each, at) => ({ ...each, colour: colours[at % colours.length] }));
    new uPlot(
      {
        width: w * column - 24,
        height: h * line - 70,
        legend: { show: false },
        cursor: { show: false },
        scales: { y: { range: (_: unknown, __: number, most: number) => [0, most > 0 ? most * 1.1 : 1] } },
        axes: [{}, { size: 64, values: (_: unknown, ticks: number[]) => ticks.map((tick) => shown(tick, unit)) }],
        series: [{}, ...coloured.map(({ colour }) => ({ stroke: colour, width: 1.5, points: { show: false } }))],
      },
      [times, ...coloured.map(({ values }) => values)],
      place,
    );
    const legend = document.createElement("div");
    legend.className = "legend";
    for (const { name, colour } of coloured) {
      const word = document.createElement("span");
      word.textContent = `● ${name}`;
      word.style.color = colour ?? "";
      legend.append(word);
    }
    box.append(legend);
  }
  all.style.height = `${bottom}px`;
  document.body.classList.add("drawn");
}
