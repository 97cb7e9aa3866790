import type { AdminActivity } from "@lazaret/contract/admin";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count } from "../text.ts";
import { theme } from "../theme.ts";
import type { Plot, PlotData } from "./plot.ts";

const HEIGHT = 150;

/** Scans per second by verdict, stacked. The words below say the same to who does not see it. */
export function Chart({ activity }: { activity: AdminActivity }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | undefined>(undefined);
  const latest = useRef(activity);
  latest.current = activity;
  const colours = theme.value;

  // The colours of a theme are read when it is drawn.
  useEffect(() => {
    let gone = false;
    const element = place.current;
    const resized = new ResizeObserver(() => {
      if (element) plot.current?.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    // The largest part of the console: read when it is needed, not before the first page.
    void import("./plot.ts").then(({ draw }) => {
      if (gone || !element) return;
      plot.current = draw(element, { width: element.clientWidth, height: HEIGHT }, stacked(latest.current));
      resized.observe(element);
    });
    return () => {
      gone = true;
      resized.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [colours]);
  useEffect(() => plot.current?.setData(stacked(activity)), [activity]);

  const sums = { clean: 0, infected: 0, no: 0 };
  for (const point of activity.points)
    for (const name of ["clean", "infected", "no"] as const) sums[name] += point[name];
  return (
    <figure class="chart">
      <div ref={place} class="plot" aria-hidden="true" />
      <figcaption>
        <span class="verdict clean">✔ {count(sums.clean)} clean</span>{" "}
        <span class="verdict infected">✖ {count(sums.infected)} infected</span>{" "}
        <span class="verdict no">! {count(sums.no)} not scanned</span>{" "}
        <span class="dim">by this machine, in the time shown</span>
      </figcaption>
    </figure>
  );
}

/** A line of a screen shows no more. */
const MOST_POINTS = 120;

/** Top of each band: not scanned, on it infected, on it clean; drawn from the highest to the lowest. */
function stacked({ points, step_seconds: step }: AdminActivity): PlotData {
  const size = Math.ceil(points.length / MOST_POINTS);
  // From the end, so that the newest is always whole.
  const groups: AdminActivity["points"][] = [];
  for (let end = points.length; end > 0; end -= size) groups.unshift(points.slice(Math.max(0, end - size), end));
  const perSecond = (count: (point: AdminActivity["points"][number]) => number): number[] =>
    groups.map((group) => group.reduce((sum, point) => sum + count(point), 0) / (group.length * step));
  return [
    groups.map((group) => (group[0]?.at ?? 0) / 1000),
    perSecond(({ clean, infected, no }) => clean + infected + no),
    perSecond(({ infected, no }) => infected + no),
    perSecond(({ no }) => no),
  ];
}
