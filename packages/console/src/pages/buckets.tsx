import type { AdminBucket, AdminPage, AdminTask } from "@lazaret/contract/admin";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { href } from "../address.ts";
import { Table, Tasks } from "../parts/lists.tsx";
import { Act, Code, Empty, Loading, Problem, ViewerNote } from "../parts/notes.tsx";
import { Ago, Stranger } from "../parts/text-parts.tsx";
import { count } from "../text.ts";
import { entriesOf, get, post } from "../wire/api.ts";
import { useLoad } from "../wire/load.ts";
import { useTasks } from "./dead-letters.tsx";

const READ_AGAIN_MS = 5000;

export function BucketsPage(): JSX.Element {
  const list = useLoad(
    "buckets",
    async (signal) => entriesOf(await get<AdminBucket[] | AdminPage<AdminBucket>>("buckets", {}, signal)),
    { everyMs: READ_AGAIN_MS },
  );
  const tasks = useTasks(["guard"]);
  const problem = useSignal<unknown>(undefined);
  const start = async (bucket: string, prefix?: string): Promise<void> => {
    problem.value = undefined;
    await post<AdminTask>("buckets/scan", { bucket, ...(prefix && { prefix }) }).catch((error: unknown) => {
      problem.value = error;
    });
    list.reload();
    tasks.reload();
  };
  const { data } = list;
  return (
    <>
      <h1>Buckets</h1>
      <p class="dim">Object storage that this installation scans. What is infected there is under Findings.</p>
      <ViewerNote />
      <Problem problem={list.problem} retry={list.reload} />
      <Problem problem={problem.value} />
      <Tasks tasks={tasks.data ?? []} changed={tasks.reload} />
      {!data && !list.problem && <Loading />}
      {data?.length === 0 && (
        <Empty title="No bucket is known yet">
          <p>Scan what is in one below, or keep watch over it from a terminal:</p>
          <Code text="lazaret guard my-bucket" label="command" />
        </Empty>
      )}
      {data && data.length > 0 && <BucketTable buckets={data} start={start} />}
      <StartForm start={start} />
    </>
  );
}

function BucketTable({ buckets, start }: { buckets: AdminBucket[]; start: (bucket: string) => unknown }): JSX.Element {
  return (
    <Table label="Buckets" columns={["Bucket", "Last scan", "Objects", "Infected", "Tag failures", "Action"]}>
      {buckets.map(({ bucket, last_scan_at, objects, infected, tag_failures, task }) => (
        <tr key={bucket}>
          <td data-name="Bucket" class="grow">
            <a href={href("/findings", { bucket })}>
              <Stranger text={bucket} />
            </a>
          </td>
          <td data-name="Last scan">{last_scan_at ? <Ago at={last_scan_at} /> : <span class="dim">never</span>}</td>
          <td data-name="Objects">{number(objects)}</td>
          <td data-name="Infected">{number(infected)}</td>
          <td data-name="Tag failures">{number(tag_failures)}</td>
          <td data-name="Action">
            {task && !task.ended_at ? (
              <span>
                under way: {count(task.done)}
                {task.total !== undefined && ` of ${count(task.total)}`}
              </span>
            ) : (
              <Act onClick={() => start(bucket)}>Scan what is there</Act>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function number(value: number | undefined): JSX.Element {
  return value === undefined ? <span class="dim">–</span> : <span class="number">{count(value)}</span>;
}

function StartForm({ start }: { start: (bucket: string, prefix?: string) => unknown }): JSX.Element {
  const bucket = useSignal("");
  const prefix = useSignal("");
  return (
    <section class="card inline" aria-label="Scan what is in a bucket">
      <label class="field">
        <span>Bucket</span>
        <input
          value={bucket.value}
          onInput={(event) => {
            bucket.value = event.currentTarget.value;
          }}
        />
      </label>
      <label class="field">
        <span>Only keys that begin with</span>
        <input
          value={prefix.value}
          onInput={(event) => {
            prefix.value = event.currentTarget.value;
          }}
        />
      </label>
      <Act primary off={!bucket.value && "Name a bucket"} onClick={() => start(bucket.value, prefix.value)}>
        Scan what is there
      </Act>
    </section>
  );
}
