import type {
  AdminDeadLetter,
  AdminDeadLetterOrder,
  AdminPage,
  AdminReceiver,
  AdminTask,
} from "@lazaret/contract/admin";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { address, href } from "../address.ts";
import { Exports, Pager, Table, Tasks, Typed } from "../parts/lists.tsx";
import { Act, Confirm, Empty, Loading, Problem, type Question, ViewerNote } from "../parts/notes.tsx";
import { Ago, Source, Stranger, Verdict } from "../parts/text-parts.tsx";
import { count, plural, visible } from "../text.ts";
import { entriesOf, get, post, session } from "../wire/api.ts";
import { listen } from "../wire/live.ts";
import { useLoad } from "../wire/load.ts";

const READ_AGAIN_MS = 5000;
const PAGE = 100;
const PER_SECOND = 20;

export function DeadLettersPage(): JSX.Element {
  const { query } = address.value;
  const filters = { receiver: query.receiver, q: query.q };
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const list = useLoad<AdminPage<AdminDeadLetter>>(
    JSON.stringify([filters, query.after]),
    (signal) => get("dead-letters", { ...filters, limit: PAGE, after: query.after }, signal),
    { everyMs: READ_AGAIN_MS },
  );
  const receivers = useLoad("receivers", async (signal) =>
    entriesOf(await get<AdminReceiver[] | AdminPage<AdminReceiver>>("dead-letters/receivers", {}, signal)),
  );
  const tasks = useTasks(["redrive", "delete"]);
  const changed = (): void => {
    selected.value = new Set();
    list.reload();
    receivers.reload();
    tasks.reload();
  };
  const ended = tasks.data?.filter(({ ended_at }) => ended_at).length ?? 0;
  // What a task did shows when it has ended.
  useEffect(changed, [ended]);
  const entries = list.data?.entries;
  return (
    <>
      <h1>Dead letters</h1>
      <p class="dim">Jobs that were given up: their callback was refused again and again, or they could not be run.</p>
      <ViewerNote />
      <Tasks tasks={tasks.data ?? []} changed={tasks.reload} />
      <Problem problem={list.problem ?? receivers.problem} retry={changed} />
      {receivers.data && receivers.data.length > 0 && <Receivers receivers={receivers.data} />}
      <div class="filters">
        <Typed name="q" label="Search" placeholder="trace id, bucket/key, host" wide />
        <Exports path="dead-letters/export" query={filters} />
      </div>
      {!list.data && list.loading && <Loading />}
      {entries && entries.length > 0 && (
        <>
          <Orders selected={[...selected.value]} receiver={query.receiver} changed={changed} />
          <Letters letters={entries} selected={selected.value} select={(ids) => (selected.value = ids)} />
        </>
      )}
      {entries?.length === 0 && <NoLetters filtered={Boolean(query.q || query.receiver)} />}
      <Pager next={list.data?.next} />
    </>
  );
}

/** Tasks of some kinds, kept up to date by events. */
export function useTasks(kinds: AdminTask["what"][]): { data: AdminTask[] | undefined; reload: () => void } {
  const load = useLoad(
    kinds.join(),
    async (signal) => entriesOf(await get<AdminTask[] | AdminPage<AdminTask>>("tasks", {}, signal)),
    { everyMs: READ_AGAIN_MS },
  );
  const told = useSignal<ReadonlyMap<string, AdminTask>>(new Map());
  useEffect(
    () =>
      listen((events) => {
        const tasks = events.filter((event) => event.type === "task").map(({ task }) => task);
        if (tasks.length === 0) return;
        const known = new Set(load.data?.map(({ id }) => id));
        told.value = new Map(tasks.map((task) => [task.id, task]));
        if (tasks.some(({ id, ended_at }) => ended_at || !known.has(id))) load.reload();
      }),
    [load.data, load.reload, told],
  );
  const latest = load.data?.map((task) => (task.ended_at ? task : (told.value.get(task.id) ?? task)));
  return { data: latest?.filter(({ what }) => kinds.includes(what)).slice(0, 5), reload: load.reload };
}

function NoLetters({ filtered }: { filtered: boolean }): JSX.Element {
  if (filtered) return <Empty title="Nothing fits" />;
  return (
    <Empty title="No dead letters">
      {session.value?.event_bus ? (
        <p>
          The event bus is on: results go to it, and it repeats what a subscriber does not take. Failed callbacks do not
          end here, so this page stays empty.
        </p>
      ) : (
        <p>
          A callback that is refused 24 times, or a job that cannot be run, would be here to be sent again. What was
          redriven is under <a href="#/jobs">Activity</a>.
        </p>
      )}
    </Empty>
  );
}

function Receivers({ receivers }: { receivers: AdminReceiver[] }): JSX.Element {
  const { path, query } = address.value;
  return (
    <nav class="tabs" aria-label="By receiver">
      <a
        href={href(path, { ...query, receiver: undefined, after: undefined })}
        {...(!query.receiver && { "aria-current": "true" as const })}
      >
        all receivers
      </a>
      {receivers.map(({ receiver, count: number }) =>
        receiver === undefined ? (
          <span class="dim tab">
            without a callback <span class="count">{count(number)}</span>
          </span>
        ) : (
          <a
            href={href(path, { ...query, receiver, after: undefined })}
            {...(query.receiver === receiver && { "aria-current": "true" as const })}
          >
            <Stranger text={receiver} /> <span class="count">{count(number)}</span>
          </a>
        ),
      )}
    </nav>
  );
}

function Orders(props: { selected: string[]; receiver: string | undefined; changed: () => void }): JSX.Element {
  const { selected, receiver } = props;
  const problem = useSignal<unknown>(undefined);
  const question = useSignal<Question | undefined>(undefined);
  const rate = useSignal(PER_SECOND);
  const some = selected.length > 0;
  const which: AdminDeadLetterOrder = some ? { ids: selected } : receiver ? { receiver } : { all: true };
  const named = some
    ? plural(selected.length, "dead letter")
    : receiver
      ? `all of ${visible(receiver)}`
      : "all dead letters";

  const order =
    (path: "redrive" | "delete", more: AdminDeadLetterOrder = {}) =>
    async (): Promise<void> => {
      problem.value = undefined;
      await post<AdminTask>(`dead-letters/${path}`, { ...which, ...more }).catch((error: unknown) => {
        problem.value = error;
      });
      props.changed();
    };
  const ask = (asked: Question) => (): void => {
    question.value = asked;
  };
  const redrive = (what: "callback" | "job"): (() => unknown) => {
    const run = order("redrive", { what, per_second: rate.value });
    if (some) return run;
    return ask({ title: `Redrive ${named}?`, text: `At most ${rate.value} a second.`, yes: "Redrive", act: run });
  };
  return (
    <div class="orders">
      <div class="row">
        <b>{some ? `${plural(selected.length, "letter")} selected` : named}:</b>
        <Act primary onClick={redrive("callback")}>
          Redrive the callback
        </Act>
        <Act onClick={redrive("job")}>Redrive the whole job</Act>
        <label class="field inline">
          <span>per second</span>
          <input
            type="number"
            min="1"
            max="1000"
            value={rate.value}
            onInput={(event) => {
              rate.value = Math.max(1, event.currentTarget.valueAsNumber || PER_SECOND);
            }}
          />
        </label>
        <Act
          danger
          onClick={ask({
            title: `Delete ${named}?`,
            text: "What is deleted is gone: its receiver is never told.",
            yes: "Delete",
            danger: true,
            act: order("delete"),
          })}
        >
          Delete
        </Act>
      </div>
      <Problem problem={problem.value} />
      <Confirm
        question={question.value}
        close={() => {
          question.value = undefined;
        }}
      />
    </div>
  );
}

function Letters(props: {
  letters: AdminDeadLetter[];
  selected: ReadonlySet<string>;
  select: (ids: ReadonlySet<string>) => void;
}): JSX.Element {
  const { letters, selected, select } = props;
  const all = letters.every(({ id }) => selected.has(id));
  const toggle = (id: string): void => {
    const after = new Set(selected);
    if (!after.delete(id)) after.add(id);
    select(after);
  };
  const toggleAll = (): void => select(new Set(all ? [] : letters.map(({ id }) => id)));
  return (
    <>
      <label class="check">
        <input type="checkbox" checked={all} onChange={toggleAll} /> select all {letters.length} shown
      </label>
      <Table label="Dead letters" columns={["Select", "Source", "Reason", "Receiver", "Verdict", "Given up"]}>
        {letters.map((letter) => (
          <tr key={letter.id} class={selected.has(letter.id) ? "selected" : ""}>
            <td data-name="Select">
              <input
                type="checkbox"
                checked={selected.has(letter.id)}
                aria-label={`select ${visible(letter.trace_id ?? letter.id)}`}
                onChange={() => toggle(letter.id)}
              />
            </td>
            <td data-name="Source" class="grow">
              <LetterSource letter={letter} />
            </td>
            <td data-name="Reason" class="words">
              <Stranger text={letter.reason} />
            </td>
            <td data-name="Receiver">
              {letter.receiver ? <Stranger text={letter.receiver} short /> : <span class="dim">–</span>}
            </td>
            <td data-name="Verdict">
              {letter.verdict ? <Verdict verdict={letter.verdict} /> : <span class="dim">–</span>}
            </td>
            <td data-name="Given up">
              <Ago at={letter.buried_at} />
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function LetterSource({ letter }: { letter: AdminDeadLetter }): JSX.Element {
  if (!letter.readable) return <span class="bad">damaged: it can only be deleted</span>;
  return (
    <>
      <a href={href(`/jobs/${encodeURIComponent(letter.id)}`)}>
        {letter.source ? <Source source={letter.source} short /> : <code>{letter.id}</code>}
      </a>
      {letter.trace_id && (
        <div class="under">
          trace id <Stranger text={letter.trace_id} short />
        </div>
      )}
    </>
  );
}
