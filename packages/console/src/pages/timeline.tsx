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

/** What happened to a job, oldest first, and what it waits for. */
export function Timeline({ job }: { job: AdminJobDetail }): JSX.Element {
  const { life, life_left_out: leftOut } = job;
  // The first 16 are kept, and the newest: what is missing was between them.
  const gap = leftOut > 0 ? 16 : -1;
  return (
    <ol class="timeline">
      {life.map((step, index) => (
        <>
          {index === gap && <li class="gap dim">{plural(leftOut, "step")} not kept</li>}
          <Step step={step} />
        </>
      ))}
      <Ahead job={job} />
    </ol>
  );
}

function Step({ step }: { step: LifeStep }): JSX.Element {
  const failed = step.what === "callback" && (step.status === undefined || step.status < 200 || step.status > 299);
  const kind = failed || step.what === "buried" ? "bad" : step.what === "put_back" ? "warn" : "good";
  return (
    <li class={kind}>
      <span class="step">
        {WORDS[step.what]}
        {step.attempt !== undefined && ` try ${step.attempt}`}
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
        {step.ms !== undefined && `${step.what === "taken" ? "waited" : "took"} ${duration(step.ms)} · `}
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
