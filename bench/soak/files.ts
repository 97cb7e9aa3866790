import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflated, zip } from "../../packages/server/test/fixtures/zip-writer.ts";

/** What must be said of a file. */
export interface Expected {
  status: "clean" | "infected";
  finding?: string;
  size: number;
}

/** In parts, so that the large ones share their bytes. */
export interface SoakFile {
  parts: readonly Buffer[];
  expected: Expected;
}

interface FileWish {
  /** Decides what it is: every eighth has what only a signature of this run knows, every eighth what only a rule of it knows. */
  number: number;
  bytes: number;
  zipped?: boolean;
}

export interface Files {
  make(wish: FileWish): SoakFile;
}

export const LARGEST_BYTES = 50_000_000;
/** Of three files one was sent before, as in real traffic; of these there are so many. */
const KNOWN_FILES = 40;
const SIGNATURE = "Lazaret.Soak.Signature";
const RULE = "Lazaret_Soak_Rule";
const sentence = "A text as people write it, about nothing in particular, again and again. ";

/**
 * Writes a signature for clamd and a rule for engine P, each for a text that was made up for this run: no other signature or rule can
 * find these files, and none of ours can miss them for another reason.
 */
export function soakFiles(folders: { signatures: string; rules: string }, engine: "P" | "Q"): Files {
  const marks = { signature: Buffer.from(`sig-${hex()}`), rule: Buffer.from(`rule-${hex()}`) };
  mkdirSync(folders.signatures, { recursive: true });
  mkdirSync(folders.rules, { recursive: true });
  writeFileSync(join(folders.signatures, "soak.ndb"), `${SIGNATURE}:0:*:${marks.signature.toString("hex")}\n`);
  writeFileSync(
    join(folders.rules, "soak.yar"),
    `rule ${RULE}\n{\n  strings:\n    $mark = "${marks.rule}"\n  condition:\n    $mark\n}\n`,
  );
  const filler = Buffer.alloc(LARGEST_BYTES, sentence);

  function endOf(number: number): { mark: Buffer; finding?: string } {
    if (number % 8 === 3) return { mark: marks.signature, finding: SIGNATURE };
    // Engine Q has no rules.
    if (number % 8 === 6 && engine === "P") return { mark: marks.rule, finding: RULE };
    return { mark: Buffer.alloc(0) };
  }

  return {
    make({ number, bytes, zipped = false }) {
      const { mark, finding } = endOf(number);
      const name = number % 3 === 0 ? `known ${number % KNOWN_FILES}` : `new ${number}`;
      const head = Buffer.from(`File ${name} of ${bytes} bytes. `);
      const plain = [head, filler.subarray(0, Math.max(0, bytes - head.length - mark.length)), mark];
      const parts = zipped
        ? [zip([deflated("about.txt", head), deflated("text.txt", Buffer.concat(plain))])]
        : plain.filter(({ length }) => length > 0);
      const size = parts.reduce((sum, { length }) => sum + length, 0);
      return { parts, expected: finding ? { status: "infected", finding, size } : { status: "clean", size } };
    },
  };
}

/** What is wrong with what was said, if anything is. */
export function wrongAbout(expected: Expected, said: unknown): string | undefined {
  const { status, finding, size } = (said ?? {}) as Record<string, unknown>;
  if (status === expected.status && finding === expected.finding && size === expected.size) return undefined;
  return `expected ${JSON.stringify(expected)}, said was ${JSON.stringify(said)}`;
}

function hex(): string {
  return randomBytes(16).toString("hex");
}
