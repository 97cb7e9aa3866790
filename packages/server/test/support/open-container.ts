import { FULL_LIMITS } from "../../src/engines/threads/scan-limits.ts";
import { gaps, memoryBlob, type Range } from "../../src/unpack/blob.ts";
import { type UnpackLimits, unpackBudget } from "../../src/unpack/budget.ts";
import type { MemberSink, Opener, Outcome, Place } from "../../src/unpack/opener.ts";
import { sevenZipProgram } from "../../src/unpack/seven-zip.ts";
import { mayBe } from "../../src/unpack/signature-search.ts";

interface OpenedMember {
  name: string;
  content: Buffer;
  way?: string;
  leftover?: boolean;
  isPart?: boolean;
}

export interface Opened {
  place: Place;
  outcome: Outcome["kind"];
  members: OpenedMember[];
  /** What the opener has not accounted for. */
  rest: Range[];
  /** Bytes passed over, as charged to the budget. */
  work: number;
}

let program: ReturnType<typeof sevenZipProgram> | undefined;

/** Opens the first place that the opener finds; nothing if it finds none. */
export async function openContainer(
  opener: Opener,
  content: Uint8Array,
  limits: Partial<UnpackLimits> = {},
): Promise<Opened | undefined> {
  const blob = memoryBlob(content);
  const [place] = opener.find(blob);
  if (!place) return undefined;
  if (opener.knownBy && !mayBe(opener.knownBy, blob))
    throw new Error(`${opener.kind} finds a content that has none of the bytes by which it says it is known`);
  program ??= sevenZipProgram();
  const members: OpenedMember[] = [];
  let [pieces, work]: [Buffer[], number] = [[], 0];
  const budget = unpackBudget({ ...FULL_LIMITS, ...limits }, content.length, () => false);
  const counted = {
    ...budget,
    addWork(count: number): void {
      work += count;
    },
  };
  const sink: MemberSink = {
    folder() {},
    begin(name, way, options) {
      pieces = [];
      members.push({ name, content: Buffer.alloc(0), ...(way !== undefined && { way }), ...options });
    },
    write: (bytes) => void pieces.push(Buffer.from(bytes)),
    end() {
      const last = members.at(-1);
      if (last) last.content = Buffer.concat(pieces);
    },
  };
  const container = blob.slice(place.start, place.end);
  const outcome = await opener.open(container, { sink, budget: counted, sevenZip: program }, place);
  const rest = outcome.kind === "opened" ? gaps(outcome.covered, container.size) : [];
  return { place, outcome: outcome.kind, members, rest, work };
}
