import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { type CorpusFile, containersOfAllKinds, corpus, sample } from "../fixtures/corpus/corpus.ts";
import { byHash, byRule, byStart } from "../fixtures/corpus/payloads.ts";
import { type Answer, ask, type SetUps, startSetUps } from "../fixtures/corpus/set-ups.ts";
import { atTheEnd, temporaryFolder, watchChild } from "../support/leftovers.ts";

/**
 * A sample of what `npm run proof` does with all of the corpus: payloads that exactly one engine knows, in every class of
 * container. Whoever says clean has not looked.
 */
const PER_CLASS = 2;
/** What scripts/test.mjs installs. */
const PROGRAMS = ["7z", "tar"];
const AT_ONCE = 4;
/** Kinds that we know and do not open, and what is too damaged to be opened: `no` is a true answer for these. */
const MAY_BE_NO = [
  /zip: methods\/(zstd by its old number|reduce)/,
  /lrzip|zpaq/,
  /a zip that looks like a tar|the flag of (strong encryption|hidden headers)/,
  /lzma\/announced to have/,
  /behind a program, (its first checksum is wrong|cut off by its sizes|the place of its files is wrong)/,
  /tar: ends and gaps\/(a wrong checksum of its own|cut in the last member)/,
  /cpio and rpm\/(crc, a bit of a number turned|spaces for zeros)/,
];

const folder = temporaryFolder();
let setUps: SetUps;
before(async () => {
  setUps = await startSetUps(folder.path, AT_ONCE);
  watchChild(setUps.clamdPid);
});
atTheEnd(() => folder[Symbol.dispose]());
atTheEnd(() => setUps[Symbol.asyncDispose]());

describe("a payload that only one engine knows", () => {
  for (const [kind, files] of sample(PER_CLASS, PROGRAMS)) {
    test(`is never called clean in the class "${kind}"`, async () => {
      const answers = await askAll(files);
      assert.ok(answers.length >= files.length, "somebody was asked about each file");
      assert.deepEqual(answers.filter(({ status }) => status === "clean" || status === "failed").map(inWords), []);
      assert.deepEqual(answers.filter((answer) => mustBeFound(answer) && !isFound(answer)).map(inWords), []);
    });
  }

  test("is known by its name to the engine that knows it, and to no other", async () => {
    const bare = (payload: CorpusFile["payload"]): CorpusFile => ({
      kind: "bare",
      name: "bare",
      layers: [],
      payload,
      make: () => payload.content,
    });
    const answers = await askAll([byHash, byStart, byRule].map(bare));
    assert.deepEqual(
      answers.map(({ setUp, file, status }) => `${setUp}: ${file.payload.name} ${status}`),
      [
        "Q: by-hash infected",
        "P with clamd: by-hash infected",
        "Q: by-start infected",
        "P with clamd: by-start infected",
        "P with clamd: by-rule infected",
        "P alone: by-rule infected",
      ],
    );
    // The other way round: nobody else knows them.
    const strangers = await Promise.all([
      verdictOf("Q", byRule.content),
      verdictOf("P alone", byHash.content),
      verdictOf("P alone", byStart.content),
    ]);
    assert.deepEqual(strangers, ["clean", "clean", "clean"]);
  });

  test("comes in at least 1,500 files for each payload, of at least 40 classes", () => {
    for (const knownTo of ["clamd", "rule"] as const) assert.ok([...corpus(knownTo)].length >= 1500);
    assert.ok(new Set(containersOfAllKinds.map(({ kind }) => kind)).size >= 40);
  });
});

/** All but what nobody can open without a key, or we do not. */
function mustBeFound({ file }: Answer): boolean {
  return !file.layers.some(({ locked }) => locked) && !MAY_BE_NO.some((pattern) => pattern.test(file.name));
}

/** By its own name; clamd may be first with one for how the file is written. */
function isFound({ status, finding }: Answer): boolean {
  return status === "infected" || (status === "other" && finding.startsWith("Heuristics."));
}

async function askAll(files: readonly CorpusFile[]): Promise<Answer[]> {
  const answers: Answer[][] = files.map(() => []);
  const waiting = files.entries();
  const work = async (): Promise<void> => {
    for (const [index, file] of waiting) answers[index] = await ask(setUps, file);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return answers.flat();
}

async function verdictOf(name: Answer["setUp"], content: Buffer): Promise<string> {
  const setUp = setUps.all.find((each) => each.name === name);
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield content;
  }
  const verdict = await setUp?.engine.scan(bytes(), AbortSignal.timeout(60_000));
  return verdict?.kind ?? "nothing";
}

function inWords({ setUp, file, status, finding }: Answer): string {
  return `${setUp}: ${file.name} (${file.payload.name}): ${status} ${finding}`;
}
