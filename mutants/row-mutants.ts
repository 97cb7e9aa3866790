import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant, TestChoice } from "./mutant.ts";

/** A row of docs/spec-map.md and the tests that it names. */
export interface SpecRow {
  /** `Limits / custom_data 16 KB`. */
  row: string;
  tests: readonly TestChoice[];
}

export function specRows(root: string): SpecRow[] {
  let section = "";
  return readFileSync(join(root, "docs/spec-map.md"), "utf8")
    .split("\n")
    .flatMap((line) => {
      section = /^## (.+)$/.exec(line)?.[1] ?? section;
      const [, row, proofs = ""] = /^\| (.+?) \| (.+) \|$/.exec(line) ?? [];
      if (row === undefined || row === "spec") return [];
      const tests = [...proofs.matchAll(/`([^`]+\.test\.ts)` "([^"]+)"/g)];
      return [
        {
          row: `${section} / ${row}`,
          tests: tests.map(([, file = "", name = ""]) => ({ file, pattern: patternOf(name) })),
        },
      ];
    });
}

/** Names are as they stand in the source: what a template puts in may be anything. */
function patternOf(name: string): string {
  const parts = name.split(/\$\{[^}]*\}?/).map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return parts.join(".*");
}

/** Each break of row-breaks.txt, with the tests of its row. Throws for one that has no row, or no place in its file. */
export function rowMutants(root: string): Mutant[] {
  const rows = specRows(root);
  const breaks = readFileSync(join(root, "mutants/row-breaks.txt"), "utf8").split("\n\n").slice(1);
  return breaks.map((text) => {
    const [heading = "", file = "", ...lines] = text.trimEnd().split("\n");
    const row = heading.replace(/^# /, "");
    const [from, to] = ["-", "+"].map((mark) => textOf(lines, mark)) as [string, string];
    const found = rows.find((each) => each.row === row);
    if (!found) throw new Error(`docs/spec-map.md has no row ${row}`);
    const source = readFileSync(join(root, file), "utf8");
    const at = source.indexOf(from);
    if (from === "" || at === -1 || source.includes(from, at + 1)) {
      throw new Error(`${JSON.stringify(from)} does not stand in ${file} once (mutants/row-breaks.txt, ${row})`);
    }
    const name = `${row}: ${from} → ${to || "nothing"}`.replace(/\s+/g, " ");
    return { name, file, at, from, to, tests: found.tests };
  });
}

function textOf(lines: readonly string[], mark: string): string {
  return lines
    .filter((line) => line.startsWith(mark))
    .map((line) => line.slice(2))
    .join("\n");
}
