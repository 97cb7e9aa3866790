/** How long finished jobs and findings are kept, and how many of them: of more the oldest go. None are kept where that is 0. */
export interface Retention {
  historyMs: number;
  historyMost: number;
  findingsMs: number;
  findingsMost: number;
  /** So many are opened for one page at most, however few of them are wanted: the next page goes on from there. Tests bring fewer. */
  mostRead?: number;
}

export const MOST_READ = 5000;

const HOUR_MS = 3600 * 1000;

/** In the units of the settings. */
export function retention(settings: {
  historyHours: number;
  historyMost: number;
  findingsDays: number;
  findingsMost: number;
}): Retention {
  const { historyHours, historyMost, findingsDays, findingsMost } = settings;
  return { historyMs: historyHours * HOUR_MS, historyMost, findingsMs: findingsDays * 24 * HOUR_MS, findingsMost };
}

/** As the settings are unless told otherwise; a test holds the two together. */
export const USUAL_RETENTION: Retention = retention({
  historyHours: 24,
  historyMost: 100_000,
  findingsDays: 90,
  findingsMost: 1_000_000,
});
