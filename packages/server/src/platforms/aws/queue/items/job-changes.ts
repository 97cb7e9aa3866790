import type { Job } from "../../../../model/job.ts";

/**
 * What is different about a job by now. It holds values and not steps, all since the job was added: put onto any older
 * state of the job it gives the newest.
 */
export interface JobChanges {
  set: Partial<Job>;
  unset: (keyof Job)[];
}

/** All that makes `job` of `base`, and names whatever `before` named. */
export function changesTo(base: Job, job: Job, before: JobChanges | undefined): JobChanges {
  const named = before ? [...Object.keys(before.set), ...before.unset] : [];
  const changed = [...new Set([...Object.keys(base), ...Object.keys(job), ...named])].filter(
    (name) => named.includes(name) || !same(fieldOf(base, name), fieldOf(job, name)),
  );
  return {
    set: Object.fromEntries(
      changed.map((name) => [name, fieldOf(job, name)]).filter(([, value]) => value !== undefined),
    ),
    unset: changed.filter((name) => fieldOf(job, name) === undefined) as (keyof Job)[],
  };
}

export function withChanges(base: Job, changes: JobChanges | undefined): Job {
  if (!changes) return base;
  const job: Job = { ...base, ...changes.set };
  for (const name of changes.unset) delete job[name];
  return job;
}

function fieldOf(job: Job, name: string): unknown {
  return job[name as keyof Job];
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
