import type { AdminDeadLetter, AdminPage, AdminReceiver } from "@lazaret/contract/admin";
import type { DeadLetter, DeadLetters } from "../queue/job-queue.ts";
import type { Answer } from "../receive/request-answer.ts";
import { cursorIn, cursorOf, isStoreText, limitIn, present, textIn } from "./asked.ts";
import { exported, sourceColumns, timeCell } from "./export.ts";
import { placeOf, receiverOf, shownLetter } from "./shown.ts";

const AT_ONCE = 200;
/** Letters that are read for one page of an answer. */
const MOST_READS = 10;
/** What receivers are counted of. */
const MOST_COUNTED = 10_000;

interface Filter {
  receiver?: string;
  tenant?: string;
  text?: string;
}

function filterIn(query: URLSearchParams): Filter {
  return present({ receiver: textIn(query, "receiver"), tenant: textIn(query, "tenant"), text: textIn(query, "q") });
}

export async function listLetters(letters: DeadLetters, query: URLSearchParams): Promise<AdminPage<AdminDeadLetter>> {
  const place = cursorIn(query, ({ letters: at }) => (isStoreText(at) ? at : undefined));
  return readLetters(letters, filterIn(query), { limit: limitIn(query), place });
}

async function readLetters(
  letters: DeadLetters,
  filter: Filter,
  { limit, place }: { limit: number; place: string | undefined },
): Promise<AdminPage<AdminDeadLetter>> {
  const entries: AdminDeadLetter[] = [];
  let next = place;
  for (let reads = 0; reads < MOST_READS && entries.length < limit; reads += 1) {
    const page = await letters.list({ limit: limit - entries.length, ...present({ after: next }) });
    entries.push(...page.entries.map(shownLetter).filter((letter) => fits(letter, filter)));
    next = page.next;
    if (next === undefined) break;
  }
  return { entries, ...(next !== undefined && { next: cursorOf({ letters: next }) }) };
}

function fits(letter: AdminDeadLetter, { receiver, tenant, text }: Filter): boolean {
  if (receiver !== undefined && letter.receiver !== receiver) return false;
  if (tenant !== undefined && letter.tenant !== tenant) return false;
  if (text === undefined) return true;
  const { id, trace_id = "", source, callback_url = "", reason } = letter;
  const wanted = text.toLowerCase();
  const found = [id, trace_id, source ? placeOf(source) : "", callback_url, reason];
  return found.some((each) => each.toLowerCase().includes(wanted));
}

/** Every letter, newest first, until there are no more or the caller has enough. */
export async function* allLetters(letters: DeadLetters): AsyncGenerator<DeadLetter> {
  let after: string | undefined;
  do {
    const page = await letters.list({ limit: AT_ONCE, ...present({ after }) });
    yield* page.entries;
    after = page.next;
  } while (after !== undefined);
}

/** Most of them first. */
export async function countReceivers(letters: DeadLetters): Promise<AdminPage<AdminReceiver>> {
  const counted = new Map<string | undefined, AdminReceiver>();
  let left = MOST_COUNTED;
  for await (const { job, buriedAt } of allLetters(letters)) {
    const receiver = job && receiverOf(job);
    const one = counted.get(receiver) ?? { ...present({ receiver }), count: 0, last_at: buriedAt };
    counted.set(receiver, { ...one, count: one.count + 1, last_at: Math.max(one.last_at, buriedAt) });
    left -= 1;
    if (left === 0) break;
  }
  return { entries: [...counted.values()].sort((one, other) => other.count - one.count) };
}

export function exportLetters(letters: DeadLetters, query: URLSearchParams): Answer {
  const filter = filterIn(query);
  return exported<AdminDeadLetter>(query, {
    name: "dead-letters",
    read: (after) => {
      const place = cursorIn(new URLSearchParams(present({ after })), ({ letters: at }) => at as string);
      return readLetters(letters, filter, { limit: AT_ONCE, place });
    },
    columns: {
      id: ({ id }) => id,
      submitted: ({ submitted_at }) => timeCell(submitted_at),
      buried: ({ buried_at }) => timeCell(buried_at),
      reason: ({ reason }) => reason,
      readable: ({ readable }) => readable,
      tenant: ({ tenant }) => tenant,
      trace_id: ({ trace_id }) => trace_id,
      ...sourceColumns,
      callback_url: ({ callback_url }) => callback_url,
      verdict: ({ verdict }) => verdict,
    },
  });
}
