import type { JobBrowser, JobEntry } from "../../queue/job-queue.ts";
import { pageOf } from "../shared/page.ts";
import { type JobItem, placeOf, stateOf } from "./job-state.ts";
import type { ItemBrowser } from "./queue/items/browse-items.ts";

/** From the table alone: what is in SQS cannot be looked at without taking it. */
export function tableBrowser({ browser, now }: { browser: ItemBrowser; now(): number }): JobBrowser {
  function entryOf(item: JobItem): JobEntry {
    const { id, submittedAt, attempts, dueAt, card } = item;
    return { id, state: stateOf(item, now()), submittedAt, attempts, dueAt, job: card };
  }

  return {
    async list({ limit, after, state }) {
      const items = await browser.list({
        limit: limit + 1,
        ...(after !== undefined && { before: after }),
        matches: (item) => state === undefined || stateOf(item, now()) === state,
      });
      return pageOf(items, { limit, entryOf, placeOf });
    },

    async show(id) {
      const item = await browser.find(id);
      return item && entryOf(item);
    },
  };
}
