import { type Drift, driftOf, type Point } from "./drift.ts";
import { pointsOf, type Reading, WATCHED, type Watched } from "./readings.ts";

export interface PictureOptions {
  title: string;
  /** Readings before this are shown, and not judged. */
  judgedFrom: number;
}

const WIDTH = 860;
const PANEL_HEIGHT = 96;
const PANEL_GAP = 34;
const LEFT = 70;
const RIGHT = 20;
const TOP = 60;
const BOTTOM = 40;
const PLOT_WIDTH = WIDTH - LEFT - RIGHT;
/** Above the largest value. */
const HEADROOM = 1.15;
/** Lines up and down, at most. */
const MOST_TICKS = 8;
const TICK_SECONDS = [5, 10, 30, 60, 300, 600, 1800, 3600, 7200];

/** Everything that was watched, over time, one below the other: the line of least squares beside it, red where it drifts. */
export function picture(readings: readonly Reading[], { title, judgedFrom }: PictureOptions): string {
  const until = Math.max(1, ...readings.map(({ seconds }) => seconds));
  const x = (seconds: number): number => LEFT + (seconds / until) * PLOT_WIDTH;
  const height = TOP + WATCHED.length * (PANEL_HEIGHT + PANEL_GAP) + BOTTOM - PANEL_GAP;
  const lower = height - BOTTOM;
  const panels = WATCHED.map((watched, index) =>
    panel(watched, { readings, judgedFrom, x, top: TOP + index * (PANEL_HEIGHT + PANEL_GAP) }),
  );
  const ticks = ticksOf(until).map(
    (seconds) =>
      `<line class="grid" x1="${fixed(x(seconds))}" y1="${TOP}" x2="${fixed(x(seconds))}" y2="${lower}"/>` +
      `<text x="${fixed(x(seconds))}" y="${lower + 18}" text-anchor="middle">${inTime(seconds)}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>text{font:12px sans-serif;fill:#444}.head{font-size:15px;fill:#111}.grid{stroke:#ddd}.line{fill:none;stroke:#2563a8;stroke-width:1.5}.fit{stroke:#777;stroke-width:1.5;stroke-dasharray:5 4}.fit.drifts{stroke:#c62828;stroke-width:2.5}.bad{fill:#c62828}</style>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<rect x="${LEFT}" y="${TOP}" width="${fixed(x(judgedFrom) - LEFT)}" height="${lower - TOP}" fill="#f4f1e6"/>`,
    `<text class="head" x="${LEFT}" y="24">${escaped(title)}</text>`,
    ...ticks,
    ...panels,
    "</svg>",
    "",
  ].join("\n");
}

interface PanelOptions {
  readings: readonly Reading[];
  judgedFrom: number;
  x(seconds: number): number;
  top: number;
}

function panel(watched: Watched, { readings, judgedFrom, x, top }: PanelOptions): string {
  const points = pointsOf(watched, readings);
  const judged = points.filter(({ seconds }) => seconds >= judgedFrom);
  const drift = driftOf(judged, watched.bound);
  const most = Math.max(1e-9, ...points.map(({ value }) => value)) * HEADROOM;
  const y = (value: number): number => top + PANEL_HEIGHT * (1 - value / most);
  const path = points.map(({ seconds, value }) => `${fixed(x(seconds))},${fixed(y(value))}`).join(" ");
  const unit = watched.unit && ` ${watched.unit}`;
  const words = `${watched.title}: ${rounded(drift.first)} → ${rounded(drift.last)}${unit}${drift.drifts ? ", drifts" : ""}`;
  return [
    `<line class="grid" x1="${LEFT}" y1="${top + PANEL_HEIGHT}" x2="${WIDTH - RIGHT}" y2="${top + PANEL_HEIGHT}"/>`,
    `<text${drift.drifts ? ' class="bad"' : ""} x="${LEFT}" y="${top - 6}">${escaped(words)}</text>`,
    `<text x="${LEFT - 8}" y="${top + 12}" text-anchor="end">${rounded(most)}</text>`,
    `<text x="${LEFT - 8}" y="${top + PANEL_HEIGHT}" text-anchor="end">0</text>`,
    `<polyline class="line" points="${path}"/>`,
    fitted(judged, drift, { x, y }),
  ].join("\n");
}

/** The line of least squares goes through the middle of all points. */
function fitted(
  judged: readonly Point[],
  { growth, drifts }: Drift,
  { x, y }: { x(seconds: number): number; y(value: number): number },
): string {
  const [from, to] = [judged[0], judged.at(-1)];
  if (!from || !to || from === to) return "";
  const mean = (of: (point: Point) => number): number =>
    judged.reduce((sum, each) => sum + of(each), 0) / judged.length;
  const [middle, level] = [mean(({ seconds }) => seconds), mean(({ value }) => value)];
  const perSecond = growth / (to.seconds - from.seconds);
  const at = ({ seconds }: Point): string => fixed(y(Math.max(0, level + (seconds - middle) * perSecond)));
  return `<line class="fit${drifts ? " drifts" : ""}" x1="${fixed(x(from.seconds))}" y1="${at(from)}" x2="${fixed(x(to.seconds))}" y2="${at(to)}"/>`;
}

function ticksOf(until: number): number[] {
  const step = TICK_SECONDS.find((each) => until / each <= MOST_TICKS) ?? until / MOST_TICKS;
  return Array.from({ length: Math.floor(until / step) + 1 }, (_, index) => index * step);
}

function inTime(seconds: number): string {
  return seconds < 60 || seconds % 60 !== 0 ? `${Math.round(seconds)} s` : `${seconds / 60} min`;
}

function rounded(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0);
}

const fixed = (value: number): string => value.toFixed(1);

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
