import type { AdminActivity, AdminJob, AdminPage } from "@lazaret/contract/admin";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { address, href } from "../address.ts";
import { curlJob } from "../commands.ts";
import { Choice, Exports, Pager, SPANS, sinceOf, Table, Typed } from "../parts/lists.tsx";
import { Code, Empty, Loading, Problem } from "../parts/notes.tsx";
import { Ago, Size, Source, State, Stranger, Verdict } from "../parts/text-parts.tsx";
import { duration, plural } from "../text.ts";
import { get } from "../wire/api.ts";
import { listen, paused } from "../wire/live.ts";
import { useLoad } from "../wire/load.ts";
import {
  afterReading,
  emptyList,
  type Filters,
  MOST_SHOWN,
  matchesFilters,
  phases,
  takePhases,
  withFresh,
  withJob,
} from "./job-list.ts";

const READ_AGAIN_MS = 5000;
const PAGE = 100;

/** A list of jobs that follows what happens. */
export function Jobs(): JSX.Element {
  const { query } = address.value;
  const filters: Filters = {
    state: query.state,
    verdict: query.verdict,
    source: query.source,
    key: query.key,
    since: sinceOf(query.span),
    q: query.q,
  };
  const asked = { ...filters, until: query.until };
  const place = JSON.stringify([{ ...asked, since: query.span }, query.after]);
  const list = useSignal(emptyList);
  const touched = useSignal(false);
  const held = useRef(() => paused.peek() || touched.peek());

  const load = useLoad<AdminPage<AdminJob>>(
    place,
    (signal) => get("jobs", { ...asked, limit: PAGE, after: query.after }, signal),
    {
      everyMs: query.after ? undefined : READ_AGAIN_MS,
      on: (read) => {
        list.value = afterReading(list.value, read, held.current() && !query.after);
      },
    },
  );
  const { reload } = load;
  const latest = useRef(filters);
  latest.current = filters;
  // Another list begins empty.
  useEffect(() => {
    list.value = emptyList;
    return listen((events) => {
      takePhases(events);
      if (query.after) return;
      if (events.some(({ type }) => type === "reset")) reload();
      let after = list.value;
      for (const event of events) {
        if (event.type === "job")
          after = withJob(after, event.job, held.current(), matchesFilters(event.job, latest.current));
      }
      list.value = after;
    });
  }, [place]);

  const hold = (on: boolean) => (): void => {
    touched.value = on;
  };
  const { shown, fresh, next } = list.value;
  const showFresh = (): void => {
    list.value = withFresh(list.value);
  };
  return (
    <section aria-label="Jobs">
      <Filter exported={asked} />
      <Problem problem={load.problem} retry={reload} />
      <div aria-live="polite">
        {fresh.length > 0 && (
          <button type="button" class="fresh" onClick={showFresh}>
            ↑ {fresh.length >= MOST_SHOWN ? `${MOST_SHOWN} or more` : fresh.length} new
          </button>
        )}
      </div>
      {shown.length > 0 ? (
        // Only whether the reader is at the list.
        <div
          onPointerEnter={hold(true)}
          onPointerLeave={hold(false)}
          onFocusCapture={hold(true)}
          onBlurCapture={hold(false)}
        >
          <JobTable jobs={shown} />
        </div>
      ) : (
        <Nothing
          loading={load.loading && !load.data}
          filtered={Object.values(asked).some(Boolean)}
          more={Boolean(next)}
        />
      )}
      <Pager next={next} />
    </section>
  );
}

function Filter({ exported }: { exported: Record<string, string | number | undefined> }): JSX.Element {
  return (
    <div class="filters">
      <Typed name="q" label="Search" placeholder="trace id, bucket/key, host" wide />
      <Choice
        name="verdict"
        label="Verdict"
        options={{ "": "any", clean: "clean", infected: "infected", no: "not scanned" }}
      />
      <Choice name="source" label="Source" options={{ "": "any", url: "link", object: "object" }} />
      <Typed name="key" label="Key" placeholder="name" />
      <Choice name="span" label="Time" options={SPANS} />
      <Exports path="jobs/export" query={exported} />
    </div>
  );
}

function Nothing(props: { loading: boolean; filtered: boolean; more: boolean }): JSX.Element {
  if (props.loading) return <Loading />;
  if (props.more) return <Empty title="Nothing among the newest ones: look at older ones below" />;
  if (props.filtered) return <Empty title="No job fits these filters" />;
  return (
    <Empty title="No jobs yet">
      <p>Submit one from a terminal, and it appears here without a reload:</p>
      <Code text={curlJob()} label="curl" />
    </Empty>
  );
}

export function JobTable({ jobs }: { jobs: AdminJob[] }): JSX.Element {
  return (
    <Table label="Jobs" columns={["State", "Verdict", "Source", "Trace id", "Size", "Key", "Submitted"]}>
      {jobs.map(rowOf)}
    </Table>
  );
}

/** The same row for the same job: what did not change is not compared again. */
const rowsMade = new WeakMap<AdminJob, JSX.Element>();
function rowOf(job: AdminJob): JSX.Element {
  const row = rowsMade.get(job) ?? <JobRow key={job.id} job={job} />;
  rowsMade.set(job, row);
  return row;
}

function JobRow({ job }: { job: AdminJob }): JSX.Element {
  const phase = job.state === "under_way" ? phases.value.get(job.id) : undefined;
  return (
    <tr>
      <td data-name="State">
        <State state={job.state} />
        {job.state === "under_way" && phase && <span class="dim"> {phase}</span>}
        {job.state === "retrying" && job.due_at && (
          <span class="dim">
            {" "}
            <Ago at={job.due_at} />
          </span>
        )}
      </td>
      <td data-name="Verdict">
        {job.verdict ? <Verdict verdict={job.verdict} /> : <span class="dim">–</span>}
        {job.finding && (
          <div class="under">
            <Stranger text={job.finding} short />
          </div>
        )}
      </td>
      <td data-name="Source" class="grow">
        <a href={href(`/jobs/${encodeURIComponent(job.id)}`)}>
          <Source source={job.source} short />
        </a>
        {job.failed_callbacks > 0 && <div class="under warn">{plural(job.failed_callbacks, "failed callback")}</div>}
        {job.reason && (
          <div class="under bad">
            <Stranger text={job.reason} short />
          </div>
        )}
      </td>
      <td data-name="Trace id">{job.trace_id ? <Stranger text={job.trace_id} short /> : <span class="dim">–</span>}</td>
      <td data-name="Size">{job.size === undefined ? <span class="dim">–</span> : <Size size={job.size} />}</td>
      <td data-name="Key">
        {job.key ? <Stranger text={job.key} short /> : <span class="dim">–</span>}
        {job.tenant !== "default" && (
          <div class="under">
            <Stranger text={job.tenant} short />
          </div>
        )}
      </td>
      <td data-name="Submitted">
        <Ago at={job.submitted_at} />
      </td>
    </tr>
  );
}

/** Uploads, and what else was answered while the client waited: there is no job, so only what this machine remembers. */
export function DirectScans({ activity }: { activity: AdminActivity | undefined }): JSX.Element {
  if (!activity) return <Loading />;
  if (activity.recent.length === 0) {
    return (
      <Empty title="No direct scans since the service started">
        <p>
          Drop a file on <a href="#/">Scan</a>. What was infected or not scanned stays under{" "}
          <a href="#/findings">Findings</a>.
        </p>
      </Empty>
    );
  }
  return (
    <section aria-label="Uploads and direct scans">
      <p class="dim">
        The newest 200 that this machine scanned. What was infected or not scanned stays under Findings.
      </p>
      <Table label="Uploads and direct scans" columns={["Verdict", "Source", "Type", "Size", "Took", "Key", "When"]}>
        {activity.recent.map((scan) => (
          <tr key={scan.id}>
            <td data-name="Verdict">
              <Verdict verdict={scan.verdict} />
              {scan.finding && (
                <div class="under">
                  <Stranger text={scan.finding} short />
                </div>
              )}
            </td>
            <td data-name="Source" class="grow">
              <Source source={scan.source} short />
            </td>
            <td data-name="Type">{scan.type ?? "–"}</td>
            <td data-name="Size">
              <Size size={scan.size} />
            </td>
            <td data-name="Took" class="number">
              {duration(scan.ms)}
            </td>
            <td data-name="Key">{scan.key ? <Stranger text={scan.key} short /> : "–"}</td>
            <td data-name="When">
              <Ago at={scan.at} />
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
