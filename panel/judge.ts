/** The verdict of one of our set-ups on a file. */
export interface Said {
  setUp: string;
  status: string;
}

export interface Judgement {
  /** The set-ups that call clean what another program gives out. */
  holes: string[];
  isClean: boolean;
}

/** A payload that any reader gives out must not be clean, with any set-up. */
export function judge(said: readonly Said[], givers: readonly string[]): Judgement {
  const clean = said.filter(({ status }) => status === "clean").map(({ setUp }) => setUp);
  return { holes: givers.length > 0 ? clean : [], isClean: clean.length > 0 };
}

interface Row {
  files: number;
  infected: number;
  no: number;
  clean: number;
  failed: number;
  holes: number;
}

/** Counts for the table of docs/unpacking.md. */
export function tally(): {
  add(kind: string, said: readonly Said[], judgement: Judgement): void;
  asked(givers: readonly string[], judgement: Judgement): void;
  total: Row & { asked: number; given: number };
  table(): string;
} {
  const kinds = new Map<string, Row>();
  const readers = new Map<string, { given: number; holes: number }>();
  const total = { ...empty(), asked: 0, given: 0 };
  return {
    total,
    add(kind, said, { holes, isClean }) {
      const family = kind.split(":")[0] ?? kind;
      const row = kinds.get(family) ?? empty();
      kinds.set(family, row);
      for (const each of [row, total]) {
        each.files += 1;
        each.holes += holes.length > 0 ? 1 : 0;
        if (isClean) each.clean += 1;
        else if (said.some(({ status }) => status === "failed")) each.failed += 1;
        else if (said.some(({ status }) => status === "infected")) each.infected += 1;
        else each.no += 1;
      }
    },
    asked(givers, { holes }) {
      total.asked += 1;
      total.given += givers.length > 0 ? 1 : 0;
      for (const giver of new Set(givers.map((each) => each.split(" > ").at(-1) ?? each))) {
        const row = readers.get(giver) ?? { given: 0, holes: 0 };
        readers.set(giver, { given: row.given + 1, holes: row.holes + (holes.length > 0 ? 1 : 0) });
      }
    },
    table() {
      const cells = ({ files, infected, no, clean, holes }: Row): string =>
        `${files} | ${infected} | ${no} | ${clean - holes} | ${holes}`;
      return [
        "| containers | files | infected | no | clean, and no reader gives it out | clean, though a reader gives it out |",
        "|---|---|---|---|---|---|",
        ...[...kinds].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, row]) => `| ${kind} | ${cells(row)} |`),
        `| **all** | ${cells(total)} |`,
        "",
        `| reader, asked about ${total.asked} of the files | gave the payload out | of these clean with us |`,
        "|---|---|---|",
        ...[...readers]
          .sort(([, a], [, b]) => b.given - a.given)
          .map(([name, { given, holes }]) => `| ${name} | ${given} | ${holes} |`),
      ].join("\n");
    },
  };
}

const empty = (): Row => ({ files: 0, infected: 0, no: 0, clean: 0, failed: 0, holes: 0 });
