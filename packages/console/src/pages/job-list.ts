import type { AdminEvent, AdminJob } from "@lazaret/contract/admin";
import { signal } from "@preact/signals";

/**
 * The rows of a list that lives. New rows do not push the others while the reader holds the list (the pointer or the keyboard is on it, or it is
 * paused): they are collected, and shown when asked for. Both are bounded, so that an hour of events costs no more than a minute.
 */
export const MOST_SHOWN = 200;

export interface JobList {
  shown: AdminJob[];
  fresh: AdminJob[];
  next: string | undefined;
}

export const emptyList: JobList = { shown: [], fresh: [], next: undefined };

export function afterReading(list: JobList, read: { entries: AdminJob[]; next?: string }, held: boolean): JobList {
  if (!held || list.shown.length === 0) return { shown: read.entries, fresh: [], next: read.next };
  return read.entries.toReversed().reduce((before, job) => withJob(before, job, true), list);
}

export function withJob(list: JobList, job: AdminJob, held: boolean, matches = true): JobList {
  const replace = (jobs: AdminJob[]): AdminJob[] => jobs.map((each) => (each.id === job.id ? job : each));
  const without = (jobs: AdminJob[]): AdminJob[] => jobs.filter((each) => each.id !== job.id);
  if (list.shown.some(({ id }) => id === job.id)) {
    return { ...list, shown: matches || held ? replace(list.shown) : without(list.shown) };
  }
  if (list.fresh.some(({ id }) => id === job.id)) {
    return { ...list, fresh: matches ? replace(list.fresh) : without(list.fresh) };
  }
  if (!matches) return list;
  if (held) return { ...list, fresh: [job, ...list.fresh].slice(0, MOST_SHOWN) };
  return { ...list, shown: [job, ...list.shown].slice(0, MOST_SHOWN) };
}

export function withFresh(list: JobList): JobList {
  return { ...list, shown: [...list.fresh, ...list.shown].slice(0, MOST_SHOWN), fresh: [] };
}

export interface Filters {
  state?: string | undefined;
  verdict?: string | undefined;
  source?: string | undefined;
  key?: string | undefined;
  since?: number | undefined;
  q?: string | undefined;
}

export function matchesFilters(job: AdminJob, filters: Filters): boolean {
  return (
    (!filters.state || job.state === filters.state) &&
    (!filters.verdict || job.verdict === filters.verdict) &&
    (!filters.source || job.source.kind === filters.source) &&
    (!filters.key || job.key === filters.key) &&
    (!filters.since || job.submitted_at >= filters.since) &&
    // What the server searches in is its own affair: with a search the list is read again instead.
    !filters.q
  );
}

/** What is being done to jobs under way, told by events alone. Only the newest are kept. */
export const phases = signal<ReadonlyMap<string, string>>(new Map());
const MOST_PHASES = 500;

export function takePhases(events: readonly AdminEvent[]): void {
  const after = new Map(phases.value);
  for (const event of events) {
    if (event.type !== "job") continue;
    after.delete(event.job.id);
    if (event.phase && event.job.state === "under_way") after.set(event.job.id, event.phase);
  }
  for (const id of after.keys()) {
    if (after.size <= MOST_PHASES) break;
    after.delete(id);
  }
  phases.value = after;
}
