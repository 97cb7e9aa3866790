import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { specifiersIn } from "./support/specifiers.ts";

test("no imports go in a circle, those of types neither, in any package or tool", () => {
  const graph = importGraph();
  assert.ok(graph.size > 500, `the guard saw only ${graph.size} files`);
  assert.deepEqual(circlesIn(graph), []);
});

test("the guard sees a circle, and every kind of import", () => {
  const graph = new Map([
    ["a.ts", ["b.ts", "d.ts"]],
    ["b.ts", ["c.ts"]],
    ["c.ts", ["a.ts"]],
    ["d.ts", ["e.ts"]],
    ["e.ts", []],
    ["itself.ts", ["itself.ts"]],
  ]);
  assert.deepEqual(circlesIn(graph), [["a.ts", "b.ts", "c.ts"], ["itself.ts"]]);
  const kinds = `import type { A } from "./a.ts";
    import {
      b,
    } from "./b.ts";
    import "./c.ts";
    export * from "./d.ts";
    type E = import("./e.ts").E;
    const f = await import("./f.ts");`.replaceAll(/^ +/gm, "");
  assert.deepEqual(specifiersIn(kinds), ["./a.ts", "./b.ts", "./c.ts", "./d.ts", "./e.ts", "./f.ts"]);
});

/** Every file of ours, tests and tools too, and the files that it imports; by their paths in the repository. */
function importGraph(): Map<string, string[]> {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const files = globSync("{packages,bench,chaos,deploy,examples,proof,scripts}/**/*.{ts,mjs}", {
    cwd: root,
    exclude: (name) => name === "node_modules" || name === "dist",
  });
  const target = (file: string, specifier: string): string =>
    specifier.startsWith(".")
      ? join(dirname(file), specifier)
      : specifier.replace(/^@lazaret\/(contract|client)$/, "packages/$1/src/index.ts");
  return new Map(
    files.map((file) => {
      const imported = specifiersIn(readFileSync(join(root, file), "utf8")).map((each) => target(file, each));
      return [file, imported.filter((each) => files.includes(each))];
    }),
  );
}

/** Groups of files each of which leads to all others of its group (Tarjan's strongly connected components). */
function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = [];
  const order = new Map<string, number>();
  const open: string[] = [];

  /** The first file, in the order of visits, that the files from this one on lead back to. */
  function visit(file: string): number {
    const mine = order.size;
    order.set(file, mine);
    open.push(file);
    let first = mine;
    for (const next of graph.get(file) ?? []) {
      const seen = order.get(next);
      if (seen === undefined) first = Math.min(first, visit(next));
      else if (open.includes(next)) first = Math.min(first, seen);
    }
    if (first < mine) return first;
    const group = open.splice(open.indexOf(file));
    if (group.length > 1 || graph.get(file)?.includes(file)) circles.push(group.sort());
    return first;
  }

  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return circles;
}
