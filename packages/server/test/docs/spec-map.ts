import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A row of docs/spec-map.md: `| id | what the specification says | files that test it |`; the last is generated. */
export interface SpecRow {
  id: string;
  says: string;
}

const root = fileURLToPath(new URL("../../../..", import.meta.url));
export const specMap: string = join(root, "docs/spec-map.md");

const ROW = /^\| ([a-z]+-\d+) \| (.*) \| .*\|$/gm;

/** Returns the rows of a page. */
export function specRows(page: string): SpecRow[] {
  return Array.from(page.matchAll(ROW), ([, id = "", says = ""]) => ({ id, says }));
}

/** Returns, for each id in a `// spec: ID, ID` comment of a test file, the files that have it. */
export function specTags(): Map<string, Set<string>> {
  const tags = new Map<string, Set<string>>();
  const files = globSync("{packages,deploy,release}/**/*.test.ts", {
    cwd: root,
    exclude: (name) => name === "node_modules",
  });
  for (const file of files.sort()) {
    for (const [, ids = ""] of readFileSync(join(root, file), "utf8").matchAll(/^ *\/\/ spec: (.+)$/gm)) {
      for (const id of ids.split(",")) tags.set(id.trim(), (tags.get(id.trim()) ?? new Set()).add(file));
    }
  }
  return tags;
}

/** Returns the page with the last column made anew from the tags. */
export function withTests(page: string, tags: Map<string, Set<string>>): string {
  return page.replaceAll(ROW, (_, id, says) => {
    const files = [...(tags.get(id) ?? [])].map((file) => `\`${file}\``);
    return `| ${id} | ${says} | ${files.join(", ") || "–"} |`;
  });
}
