import type { AdminTask } from "@lazaret/contract/admin";
import type { ComponentChildren, JSX } from "preact";
import { address, href, setQuery } from "../address.ts";
import { count, visible } from "../text.ts";
import { mayAct, post, type Query, urlOf } from "../wire/api.ts";

/** Columns are headers; on a narrow screen each cell says its own (`data-name`). */
export function Table(props: { label: string; columns: string[]; children: ComponentChildren }): JSX.Element {
  return (
    <div class="table">
      <table>
        <caption class="offscreen">{props.label}</caption>
        <thead>
          <tr>
            {props.columns.map((name) => (
              <th scope="col">{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </div>
  );
}

/** Newest and older: the place is in the address, so that back goes back. */
export function Pager({ next }: { next: string | undefined }): JSX.Element | null {
  const { path, query } = address.value;
  if (!next && !query.after) return null;
  return (
    <nav class="pager" aria-label="Pages">
      {query.after ? <a href={href(path, { ...query, after: undefined })}>⇤ Newest</a> : <span />}
      {next ? <a href={href(path, { ...query, after: next })}>Older →</a> : <span class="dim">That is all.</span>}
    </nav>
  );
}

/** One value of the query, chosen from a few. */
export function Choice(props: { name: string; label: string; options: Record<string, string> }): JSX.Element {
  return (
    <label class="field">
      <span>{props.label}</span>
      <select
        value={address.value.query[props.name] ?? ""}
        onChange={(event) => setQuery({ [props.name]: event.currentTarget.value || undefined })}
      >
        {Object.entries(props.options).map(([value, text]) => (
          <option value={value}>{text}</option>
        ))}
      </select>
    </label>
  );
}

/** One value of the query, typed. */
export function Typed(props: { name: string; label: string; placeholder?: string; wide?: boolean }): JSX.Element {
  return (
    <label class={props.wide ? "field wide" : "field"}>
      <span>{props.label}</span>
      <input
        type="search"
        value={address.value.query[props.name] ?? ""}
        placeholder={props.placeholder ?? ""}
        onChange={(event) => setQuery({ [props.name]: event.currentTarget.value.trim() || undefined })}
      />
    </label>
  );
}

const HOUR = 3_600_000;
export const SPANS: Record<string, string> = {
  "": "any time",
  "1h": "last hour",
  "24h": "last 24 hours",
  "7d": "last 7 days",
};
const LENGTHS: Record<string, number> = { "1h": HOUR, "24h": 24 * HOUR, "7d": 168 * HOUR };

/** Where a span of the query begins, to the minute so that the same list has the same address. */
export function sinceOf(span: string | undefined): number | undefined {
  const length = span === undefined ? undefined : LENGTHS[span];
  return length && Math.floor((Date.now() - length) / 60_000) * 60_000;
}

export function Exports({ path, query }: { path: string; query: Query }): JSX.Element {
  return (
    <span class="exports">
      Export{" "}
      <a href={urlOf(path, { ...query, format: "ndjson" })} download>
        NDJSON
      </a>{" "}
      <a href={urlOf(path, { ...query, format: "csv" })} download>
        CSV
      </a>
    </span>
  );
}

const TASKS = { redrive: "Redriving", delete: "Deleting", guard: "Scanning" } as const;

export function Tasks({ tasks, changed }: { tasks: AdminTask[]; changed: () => void }): JSX.Element | null {
  if (tasks.length === 0) return null;
  const stop = async (id: string): Promise<void> => {
    await post(`tasks/${encodeURIComponent(id)}/stop`).catch(() => undefined);
    changed();
  };
  return (
    <section class="tasks" aria-label="Work under way">
      {tasks.map((task) => (
        <div class="task">
          <span>
            {TASKS[task.what]} <b>{visible(task.on)}</b>
          </span>
          <progress
            aria-label={`${TASKS[task.what]} ${visible(task.on)}`}
            max={task.total ?? 1}
            {...(task.ended_at || task.total ? { value: task.ended_at ? (task.total ?? 1) : task.done } : {})}
          />
          <span class="number" aria-live="polite">
            {count(task.done)}
            {task.total !== undefined && ` of ${count(task.total)}`}
            {task.failed > 0 && `, ${count(task.failed)} failed`}
            {task.ended_at && (task.error ? ", ended early" : ", finished")}
          </span>
          {task.ended_at && task.what === "redrive" && task.done > 0 && (
            <a href={href("/jobs")}>See what became of them</a>
          )}
          {task.error && <span class="bad">{visible(task.error)}</span>}
          {!task.ended_at && mayAct() && (
            <button type="button" class="quiet" onClick={() => stop(task.id)}>
              Stop
            </button>
          )}
        </div>
      ))}
    </section>
  );
}
