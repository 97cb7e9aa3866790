import type { AdminJobDetail, LifeStep, LifeWord } from "@lazaret/contract/admin";
import type { JSX } from "preact";
import { Ago, Stranger } from "../parts/text-parts.tsx";
import { duration, plural } from "../text.ts";

const WORDS: Readonly<Record<LifeWord, string>> = {
  accepted: "Accepted",
  taken: "Taken from the queue",
  downloaded: "Downloaded",
  scanned: "Scanned",
  acted: "Object changed",
  kept: "Result kept",
  told: "Announced",
  callback: "Callback",
  put_back: "Put back into the queue",
  buried: "Given up: a dead letter",
  redriven: "Redriven",
  done: "Done",
};

const TOOK: Readonly<Partial<Record<LifeWord, string>>> = { taken: "waited", put_back: "for" };

const FOLDED_FROM = 3;

/** What happened to a job, oldest first, and what it waits for. */
export function Timeline({ job }: { job: AdminJobDetail }): JSX.Element {
  const { life, life_left_out: leftOut } = job;
  // The first 16 are kept, and the newest: what is missing was between them.
  const gap = leftOut > 0 ? 16 : -1;
  return (
    <ol class="timeline">
      {gap > 0 ? (
        <>
          <Steps life={life.slice(0, gap)} />
          <li class="gap dim">{plural(leftOut, "step")} not kept</li>
          <Steps life={life.slice(gap)} />
        </>
      ) : (
        <Steps life={life} />
      )}
      <Ahead job={job} />
    </ol>
  );
}

/** Failed tries that follow each other are one entry, which opens: 24 of them would push the rest out of sight. */
function Steps({ life }: { life: LifeStep[] }): JSX.Element {
  const groups: LifeStep[][] = [];
  for (const step of life) {
    const last = groups.at(-1);
    if (last?.[0] && isFailedTry(last[0]) && isFailedTry(step)) last.push(step);
    else groups.push([step]);
  }
  return (
    <>
      {groups.map((steps) =>
        steps.length >= FOLDED_FROM ? <Tries steps={steps} /> : steps.map((step) => <Step step={step} />),
      )}
    </>
  );
}

export function isFailedTry({ what, status }: LifeStep): boolean {
  return what === "callback" && (status === undefined || status < 200 || status > 299);
}

function Tries({ steps }: { steps: LifeStep[] }): JSX.Element | null {
  const [first, last] = [steps[0], steps.at(-1)];
  if (!first || !last) return null;
  const answers = [...new Set(steps.map(({ status }) => status ?? "no answer"))].join(", ");
  return (
    <li class="bad folded">
      <details>
        <summary>
          <span class="step">
            Callback tries {first.attempt}–{last.attempt} <b class="bad">✖ {answers}</b>
          </span>{" "}
          <span class="dim number">
            {last.ms !== undefined && `last took ${duration(last.ms)} · `}
            <Ago at={last.at} />
          </span>
        </summary>
        <ol class="timeline">
          {steps.map((step) => (
            <Step step={step} />
          ))}
        </ol>
      </details>
    </li>
  );
}

function Step({ step }: { step: LifeStep }): JSX.Element {
  const failed = isFailedTry(step);
  const kind = failed || step.what === "buried" ? "bad" : step.what === "put_back" ? "warn" : "good";
  return (
    <li class={kind}>
      <span class="step">
        {WORDS[step.what]}
        {step.what === "callback" && step.attempt !== undefined && ` try ${step.attempt}`}
        {step.what === "callback" && (
          <b class={failed ? "bad" : ""}>
            {" "}
            {failed ? "✖" : "✔"} {step.status ?? "no answer"}
          </b>
        )}
      </span>
      {step.detail && (
        <span class="detail">
          <Stranger text={step.detail} />
        </span>
      )}
      <span class="dim number">
        {step.ms !== undefined && `${TOOK[step.what] ?? "took"} ${duration(step.ms)} · `}
        <Ago at={step.at} />
      </span>
    </li>
  );
}

function Ahead({ job }: { job: AdminJobDetail }): JSX.Element | null {
  if (job.state === "queued") return <li class="ahead">Waiting in the queue…</li>;
  if (job.state === "under_way") return <li class="ahead">Under way…</li>;
  if (job.state !== "retrying") return null;
  return <li class="ahead">Taken again {job.due_at ? <Ago at={job.due_at} /> : "soon"}</li>;
}
