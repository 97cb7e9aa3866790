import type { AdminJobDetail, LifeStep } from "@lazaret/contract/admin";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { go, href } from "../address.ts";
import { curlSource } from "../commands.ts";
import { Act, Copy, Empty, Loading, Problem, ViewerNote } from "../parts/notes.tsx";
import { Ago, Size, Source, State, Stranger, sourceText, Verdict } from "../parts/text-parts.tsx";
import { duration } from "../text.ts";
import { ApiProblem, get, post } from "../wire/api.ts";
import { listen } from "../wire/live.ts";
import { useLoad } from "../wire/load.ts";
import { CallbackPart } from "./job-callback.tsx";
import { isFailedTry, Timeline } from "./timeline.tsx";

const READ_AGAIN_MS = 5000;

export function JobPage({ id }: { id: string }): JSX.Element {
  const { data, problem, reload } = useLoad<AdminJobDetail>(
    id,
    (signal) => get(`jobs/${encodeURIComponent(id)}`, {}, signal),
    {
      everyMs: READ_AGAIN_MS,
    },
  );
  const jobId = data?.id ?? id;
  useEffect(
    () =>
      listen((events) => {
        if (events.some((event) => event.type === "reset" || (event.type === "job" && event.job.id === jobId)))
          reload();
      }),
    [jobId, reload],
  );
  if (!data && problem instanceof ApiProblem && problem.status === 404) {
    return (
      <Empty page title="No such job is known">
        <p>Jobs that are done are kept for a while (24 hours, unless set otherwise). What was found is kept longer:</p>
        <p>
          <a href={href("/findings", { q: id })}>Look for it under Findings</a>
        </p>
      </Empty>
    );
  }
  return (
    <>
      <h1 class="offscreen">Job</h1>
      <Problem problem={problem} retry={reload} />
      {data ? <Job job={data} reload={reload} /> : !problem && <Loading />}
    </>
  );
}

function Job({ job, reload }: { job: AdminJobDetail; reload: () => void }): JSX.Element {
  return (
    <>
      <header class={`job-head ${job.verdict ?? ""}`}>
        <div aria-live="polite">
          {job.verdict ? <Verdict verdict={job.verdict} big /> : <span class="verdict big">no verdict yet</span>}{" "}
          {job.finding && <Stranger text={job.finding} />}
        </div>
        <div class="job-source">
          <Source source={job.source} />
        </div>
        <div class="row">
          <State state={job.state} />
          {job.trace_id && (
            <span>
              trace id <Stranger text={job.trace_id} />
            </span>
          )}
          <span class="dim">
            submitted <Ago at={job.submitted_at} />
          </span>
        </div>
        {job.reason ? (
          <p class="bad">
            dead: <Stranger text={job.reason} />
          </p>
        ) : (
          <LastCallback life={job.life} />
        )}
      </header>
      <Actions job={job} reload={reload} />
      <div class="job-parts">
        <section class="card">
          <h2>Timeline</h2>
          <Timeline job={job} />
        </section>
        <Facts job={job} />
      </div>
      <CallbackPart job={job} />
    </>
  );
}

/** What most readers came for: has the receiver been told? */
function LastCallback({ life }: { life: LifeStep[] }): JSX.Element | null {
  const last = life.findLast(({ what }) => what === "callback");
  if (!last) return null;
  return isFailedTry(last) ? (
    <p class="bad">
      ✖ callback not delivered: {last.status === undefined ? "no answer" : `answered ${last.status}`} at try{" "}
      {last.attempt}, <Ago at={last.at} />
    </p>
  ) : (
    <p class="good">
      ✔ callback delivered: answered {last.status}, <Ago at={last.at} />
    </p>
  );
}

function Actions({ job, reload }: { job: AdminJobDetail; reload: () => void }): JSX.Element {
  const problem = useSignal<unknown>(undefined);
  const busy = useSignal<string | undefined>(undefined);
  const done = useSignal<string | undefined>(undefined);
  const act = (what: "callback" | "rescan", said: string) => async (): Promise<void> => {
    busy.value = what;
    problem.value = undefined;
    try {
      const answer = await post<{ id?: string } | undefined>(`jobs/${encodeURIComponent(job.id)}/${what}`);
      done.value = said;
      if (answer?.id && answer.id !== job.id) go(`/jobs/${encodeURIComponent(answer.id)}`);
      else reload();
    } catch (error) {
      problem.value = error;
    }
    busy.value = undefined;
  };
  return (
    <div class="actions">
      <div class="row">
        <Act
          busy={busy.value === "callback"}
          off={!job.can.callback && whyNot(job, "There is no callback to send again, or what it needs is not kept")}
          onClick={act("callback", "The callback is on its way.")}
        >
          Send the callback again
        </Act>
        <Act
          busy={busy.value === "rescan"}
          off={
            !job.can.rescan &&
            !job.can.redrive &&
            whyNot(job, "What a scan needs (a link's query or headers) is not kept any more")
          }
          onClick={act("rescan", "It is scanned again.")}
        >
          Scan again
        </Act>
        <Copy label="Copy JSON" text={() => JSON.stringify(job, undefined, 2)} />
        <Copy label="Copy as curl" text={() => curlSource(job.source)} />
        {job.sha256 && <Copy label="Copy SHA-256" text={job.sha256} />}
        <Copy label="Copy source" text={() => sourceText(job.source)} />
      </div>
      <ViewerNote />
      {done.value && <p role="status">{done.value}</p>}
      <Problem problem={problem.value} />
    </div>
  );
}

function whyNot({ state }: AdminJobDetail, reason: string): string {
  return state === "done" || state === "dead" ? reason : "It is not finished yet";
}

function Facts({ job }: { job: AdminJobDetail }): JSX.Element {
  const facts: [string, JSX.Element | string | undefined][] = [
    ["Job", <code>{job.id}</code>],
    ["Size", job.size === undefined ? undefined : <Size size={job.size} />],
    ["Real type", job.type && <Stranger text={job.type} />],
    ["Inside it", job.member && <Stranger text={job.member} />],
    ["Detail", job.detail && <Stranger text={job.detail} />],
    ["SHA-256", job.sha256 && <code class="wrap">{job.sha256}</code>],
    ["Engine", job.engine],
    ["Signatures", job.signatures],
    ["Download", job.download_seconds === undefined ? undefined : duration(job.download_seconds * 1000)],
    ["Scan", job.scan_seconds === undefined ? undefined : duration(job.scan_seconds * 1000)],
    ["From cache", job.cached ? "yes: the same bytes were scanned before" : undefined],
    ["Object", job.action && { delete: "was deleted", tag: "was tagged", no: "was left as it is" }[job.action]],
    ["Tenant", <Stranger text={job.tenant} />],
    ["Key", job.key && <Stranger text={job.key} />],
    ["Headers sent", names(job.header_names)],
    ["Callback headers", names(job.callback_header_names)],
    ["Others of this trace id", others(job)],
  ];
  return (
    <section class="card">
      <h2>Facts</h2>
      <dl class="facts">
        {facts.map(
          ([name, value]) =>
            value && (
              <>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </>
            ),
        )}
      </dl>
    </section>
  );
}

function names(list: string[]): JSX.Element | undefined {
  return list.length === 0 ? undefined : <Stranger text={`${list.join(", ")} (values are never shown)`} />;
}

function others({ others: list }: AdminJobDetail): JSX.Element | undefined {
  if (list.length === 0) return undefined;
  return (
    <ul class="plain">
      {list.map(({ id, submitted_at, state }) => (
        <li>
          <a href={href(`/jobs/${encodeURIComponent(id)}`)}>
            <Ago at={submitted_at} />
          </a>{" "}
          <State state={state} />
        </li>
      ))}
    </ul>
  );
}
