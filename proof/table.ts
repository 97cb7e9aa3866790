import type { Answer } from "../packages/server/test/fixtures/corpus/set-ups.ts";

/** What was said, as Markdown: a row for each class, a column for each set-up with who knows the payload. */
export interface Tally {
  add(answer: Answer): void;
  table(): string;
  of(...statuses: Answer["status"][]): readonly Answer[];
  total: number;
}

const TITLES: Readonly<Record<string, string>> = {
  clamd: "clamd's payload",
  rule: "a rule's payload",
  nobody: "harmless",
};

/** `kinds` in the order of the rows. */
export function tally(kinds: Iterable<string>): Tally {
  const counts = new Map<string, Map<string, Record<Answer["status"], number>>>(
    [...kinds].map((kind) => [kind, new Map()]),
  );
  const columns = new Set<string>();
  const remembered: Answer[] = [];
  let total = 0;

  function count(kind: string, column: string, status: Answer["status"]): void {
    const row = counts.get(kind) ?? new Map();
    counts.set(kind, row);
    const cell = row.get(column) ?? { infected: 0, other: 0, no: 0, clean: 0, failed: 0 };
    row.set(column, cell);
    cell[status] += 1;
  }

  return {
    add(answer) {
      const column = `${answer.setUp}, ${TITLES[answer.file.payload.knownTo]}`;
      columns.add(column);
      total += 1;
      count(answer.file.kind, column, answer.status);
      count(ALL, column, answer.status);
      // Those that went as they should are only counted: there are ten thousands of them.
      const expected = answer.file.payload.knownTo === "nobody" ? "clean" : "infected";
      if (answer.status !== expected) remembered.push({ ...answer, file: { ...answer.file } });
    },
    table() {
      const names = [...columns].sort((a, b) => ORDER.indexOf(a[0] ?? "") - ORDER.indexOf(b[0] ?? ""));
      const rows = [...counts.keys()].filter((kind) => kind !== ALL);
      const lines = [
        `| class: infected / no / clean | ${names.join(" | ")} |`,
        `|---|${names.map(() => "---").join("|")}|`,
        ...[...rows, ALL].map((kind) => `| ${kind} | ${names.map((name) => cell(kind, name)).join(" | ")} |`),
      ];
      return lines.join("\n");
    },
    of: (...statuses) => remembered.filter(({ status }) => statuses.includes(status)),
    get total() {
      return total;
    },
  };

  function cell(kind: string, column: string): string {
    const found = counts.get(kind)?.get(column);
    if (!found) return "";
    const clean = found.clean > 0 ? `**${found.clean}**` : "0";
    const rest = [
      found.other > 0 ? `${found.other} by another name` : "",
      found.failed > 0 ? `${found.failed} failed` : "",
    ];
    return [`${found.infected} / ${found.no} / ${clean}`, ...rest.filter((each) => each !== "")].join(", ");
  }
}

const ALL = "**all**";
const ORDER = "QP";
