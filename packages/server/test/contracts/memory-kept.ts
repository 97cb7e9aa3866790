import type { Finding, Findings } from "../../src/deliver/findings.ts";
import type { Job } from "../../src/model/job.ts";
import { findingPlace, findingPlaceIn } from "../../src/platforms/shared/finding-place.ts";
import { finishedJob, isWantedFinding, isWantedJob } from "../../src/platforms/shared/finished-job.ts";
import { isJobPlace, wantedPage } from "../../src/platforms/shared/page.ts";
import { type Retention, USUAL_RETENTION } from "../../src/platforms/shared/retention.ts";
import type { FinishedJob, JobHistory } from "../../src/queue/job-history.ts";

/** What is kept for people to look at, oldest first; undefined stands for what cannot be read any more. */
export interface MemoryKept {
  history: Map<string, FinishedJob | undefined>;
  findings: Map<string, Finding | undefined>;
}

export interface KeptParts {
  storage: { kept: MemoryKept };
  retention?: Retention;
  now(): number;
  write(): void;
}

export function keepFinished(
  { storage, retention = USUAL_RETENTION, now }: KeptParts,
  job: Job,
  attempts: number,
): void {
  const { history } = storage.kept;
  if (retention.historyMost === 0) return;
  history.set(job.id, finishedJob(job, { finishedAt: now(), attempts }));
  cut(history, retention.historyMost);
}

export function memoryHistory({ storage, retention = USUAL_RETENTION, now }: KeptParts): JobHistory {
  const { history } = storage.kept;
  const isKept = (each: FinishedJob | undefined): each is FinishedJob =>
    each !== undefined && each.finishedAt > now() - retention.historyMs;
  const kept = (): FinishedJob[] =>
    [...history.values()].filter(isKept).sort((one, other) => (one.id < other.id ? 1 : -1));

  return {
    async list({ limit, after, ...query }) {
      if (after !== undefined && !isJobPlace(after)) return undefined;
      const { mostRead } = retention;
      const read = async (place: string | undefined, count: number): Promise<FinishedJob[]> =>
        kept()
          .filter(({ id }) => place === undefined || id < place)
          .slice(0, count);
      const isWanted = (each: FinishedJob): boolean => isWantedJob(each, query);
      return await wantedPage({ limit, mostRead, read, open: (row) => row, isWanted, placeOf: ({ id }) => id }, after);
    },
    async show(id) {
      const found = history.get(id);
      return isKept(found) ? found : undefined;
    },
    ofTrace: async ({ tenant, traceId }) =>
      kept()
        .filter(({ job }) => job.tenant === tenant && job.traceId === traceId)
        .map(({ id }) => id)
        .slice(0, 100),
    count: async () => kept().length,
  };
}

export function memoryFindings({ storage, retention = USUAL_RETENTION, now, write }: KeptParts): Findings {
  const { findings } = storage.kept;
  const kept = (): Finding[] =>
    [...findings.values()]
      .filter((each) => each !== undefined)
      .filter(({ at }) => at > now() - retention.findingsMs)
      .sort((one, other) => other.at - one.at || (one.id < other.id ? 1 : -1));

  return {
    async add(finding) {
      write();
      if (retention.findingsMost === 0) return;
      findings.set(finding.id, { ...finding, at: findings.get(finding.id)?.at ?? finding.at });
      cut(findings, retention.findingsMost);
    },
    async list({ limit, after, ...query }) {
      if (after !== undefined && findingPlaceIn(after) === undefined) return undefined;
      const read = async (text: string | undefined, count: number): Promise<Finding[]> => {
        const place = text === undefined ? undefined : findingPlaceIn(text);
        const isAfter = ({ at, id }: Finding): boolean =>
          place === undefined || at < place.at || (at === place.at && id < place.id);
        return kept().filter(isAfter).slice(0, count);
      };
      const isWanted = (each: Finding): boolean => isWantedFinding(each, query);
      const parts = {
        limit,
        mostRead: retention.mostRead,
        read,
        open: (row: Finding) => row,
        isWanted,
        placeOf: findingPlace,
      };
      return await wantedPage(parts, after);
    },
  };
}

export function damage({ history, findings }: MemoryKept): void {
  for (const id of history.keys()) history.set(id, undefined);
  for (const id of findings.keys()) findings.set(id, undefined);
}

function cut(kept: Map<string, unknown>, most: number): void {
  for (const id of kept.keys()) {
    if (kept.size <= most) return;
    kept.delete(id);
  }
}
