import { timeLimit } from "../../../flow/time-limit.ts";
import type { ClamdAddress } from "../address.ts";
import { basicCanary, plainCanary } from "../canary-files.ts";
import type { Reply } from "../reply.ts";
import { openSession } from "../session.ts";
import { type CleanFile, cleanFiles } from "./clean-files.ts";

/** A few small files: who needs longer for them could not keep up with anybody's. */
const SELF_TEST_MS = 60_000;
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * What new signatures have to show before a file of anybody's is scanned by them: the EICAR test file is found, plain and in a zip, and
 * nothing is found in our clean files. Throws with what went wrong.
 */
export async function selfTest(
  address: ClamdAddress,
  programs?: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  using limit = timeLimit(SELF_TEST_MS, signal, () => new Error(`not done within ${SELF_TEST_MS / 1000} s`));
  const options = { connectTimeoutMs: CONNECT_TIMEOUT_MS, replyTimeoutMs: SELF_TEST_MS };
  const session = await openSession(address, options, limit.signal);
  const ask = (bytes: Buffer): Promise<Reply> => session.scan(once(bytes), { signal: limit.signal });
  try {
    for (const [name, bytes] of [
      ["the EICAR test file", plainCanary()] as const,
      ["EICAR in a zip", basicCanary()] as const,
    ]) {
      const reply = await ask(bytes);
      if (!isInfected(reply)) throw new Error(`they do not find ${name}: clamd says ${inWords(reply)}`);
    }
    for (const file of cleanFiles(programs)) await expectClean(file, ask);
  } finally {
    session.close();
  }
}

async function expectClean({ name, bytes }: CleanFile, ask: (bytes: Buffer) => Promise<Reply>): Promise<void> {
  const reply = await ask(bytes);
  if (reply.kind === "verdict" && reply.verdict.kind === "clean") return;
  throw new Error(`they call a harmless file (${name}) ${inWords(reply)}`);
}

function isInfected(reply: Reply): boolean {
  return reply.kind === "verdict" && reply.verdict.kind === "infected";
}

function inWords(reply: Reply): string {
  if (reply.kind === "failure") return reply.text;
  return reply.verdict.kind === "clean" ? "OK" : `${reply.verdict.kind}: ${reply.verdict.finding}`;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
