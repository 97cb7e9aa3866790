import type { AdminActivity, AdminJobCounts, JobStateName } from "@lazaret/contract/admin";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { address, href, setQuery } from "../address.ts";
import { Chart } from "../parts/chart.tsx";
import { Loading, Problem } from "../parts/notes.tsx";
import { STATES } from "../parts/text-parts.tsx";
import { count, duration } from "../text.ts";
import { get } from "../wire/api.ts";
import { listen } from "../wire/live.ts";
import { useLoad } from "../wire/load.ts";
import { DirectScans, Jobs } from "./jobs.tsx";

const READ_AGAIN_MS = 5000;
const RANGES = { "15m": "15 min", "1h": "1 h", "24h": "24 h" } as const;

export function ActivityPage(): JSX.Element {
  const range = rangeOf(address.value.query.range);
  const counts = useSignal<AdminJobCounts | undefined>(undefined);
  const activity = useLoad<AdminActivity>(range, (signal) => get("activity", { range }, signal), {
    everyMs: READ_AGAIN_MS,
    on: ({ queue }) => {
      counts.value = queue;
    },
  });
  useEffect(
    () =>
      listen((events) => {
        for (const event of events) if (event.type === "counts") counts.value = event.counts;
      }),
    [counts],
  );
  const direct = address.value.query.state === "direct";
  return (
    <>
      <h1>Activity</h1>
      <Problem problem={activity.problem} retry={activity.reload} />
      {activity.data && <Summary activity={activity.data} queue={counts.value ?? activity.data.queue} />}
      <section class="card chart-card" aria-label="Scans per second">
        <div class="row spread">
          <h2>Scans per second</h2>
          <fieldset class="segments" aria-label="Time shown">
            {Object.entries(RANGES).map(([value, text]) => (
              <button type="button" aria-pressed={value === range} onClick={() => setQuery({ range: value })}>
                {text}
              </button>
            ))}
          </fieldset>
        </div>
        {activity.data ? <Chart activity={activity.data} /> : <Loading />}
      </section>
      <Tabs counts={counts.value} direct={activity.data?.recent.length} />
      {direct ? <DirectScans activity={activity.data} /> : <Jobs />}
    </>
  );
}

function rangeOf(text: string | undefined): keyof typeof RANGES {
  return text === "1h" || text === "24h" ? text : "15m";
}

function Summary({ activity, queue }: { activity: AdminActivity; queue: AdminJobCounts }): JSX.Element {
  const { last_day: day } = activity;
  const waiting = queue.queued + queue.retrying;
  return (
    <dl class="tiles" aria-label="Last 24 hours">
      <Tile name="scanned, 24 h" value={count(day.scanned)} />
      <Tile name="infected" value={count(day.infected)} kind={day.infected > 0 ? "bad" : ""} />
      <Tile name="not scanned" value={count(day.no)} kind={day.no > 0 ? "warn" : ""} />
      <Tile name="95 % within" value={day.p95_ms === undefined ? "–" : duration(day.p95_ms)} />
      <Tile name="in the queue" value={count(waiting)} />
      <Tile name="oldest waits" value={waiting === 0 ? "–" : duration(queue.oldest_seconds * 1000)} />
    </dl>
  );
}

function Tile({ name, value, kind = "" }: { name: string; value: string; kind?: string }): JSX.Element {
  return (
    <div class={`tile ${kind}`}>
      <dt>{name}</dt>
      <dd class="number">{value}</dd>
    </div>
  );
}

function Tabs({ counts, direct }: { counts: AdminJobCounts | undefined; direct: number | undefined }): JSX.Element {
  const { path, query } = address.value;
  const tab = (state: string | undefined, name: string, number: number | undefined): JSX.Element => (
    <a
      href={href(path, { ...query, state, after: undefined })}
      {...((query.state ?? "") === (state ?? "") && { "aria-current": "true" as const })}
    >
      {name} {number !== undefined && <span class="count">{count(number)}</span>}
    </a>
  );
  return (
    <nav class="tabs" aria-label="Jobs by state">
      {tab(undefined, "all jobs", undefined)}
      {(Object.entries(STATES) as [JobStateName, string][]).map(([state, name]) => tab(state, name, counts?.[state]))}
      {tab("direct", "uploads and direct scans", direct)}
    </nav>
  );
}
