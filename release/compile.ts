import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { init, parse } from "es-module-lexer";
import { filesIn, root, runScript } from "./project.ts";

await init;

/** What stands in the sources for a package that is carried, and the file that it is here. */
export type Carried = Readonly<Record<string, string>>;

/** Compiles a project of this folder: programs, source maps that hold the sources, and declarations. */
export function compile(project: string, out: string): void {
  runScript("typescript/bin/tsc", ["-p", join(root, "release", project), "--outDir", out]);
  for (const path of filesIn(out)) if (path.endsWith(".map")) nameSource(path);
}

/** The compiler writes the way from the map to the source, which is another one in every folder. */
function nameSource(path: string): void {
  const { sourceRoot: _, ...map } = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...map, sources: [basename(path).replace(/\.js\.map$/, ".ts")] }));
}

/**
 * What the compiler leaves: `.ts` in declarations and in `new URL(…, import.meta.url)`, and the packages that are carried. Imports are found by a
 * lexer: the service also holds text that reads like one.
 */
export function rewriteImports(folder: string, carried: Carried = {}): void {
  for (const path of filesIn(folder)) {
    if (!/\.(m?js|d\.ts)$/.test(path)) continue;
    const rewritten = (specifier: string): string => {
      const target = carried[specifier];
      if (target === undefined) return specifier.replace(/^(\.{1,2}\/.*)\.ts$/, "$1.js");
      const way = relative(dirname(path), join(folder, target));
      return way.startsWith(".") ? way : `./${way}`;
    };
    let text = readFileSync(path, "utf8");
    for (const { specifier, start, end } of importsIn(path, text).toReversed()) {
      // Of an import() the quotes are included.
      const quote = /["']/.test(text[start] ?? "") ? '"' : "";
      text = text.slice(0, start) + quote + rewritten(specifier) + quote + text.slice(end);
    }
    writeFileSync(
      path,
      text.replace(BESIDE, (whole, specifier: string) => whole.replace(specifier, rewritten(specifier))),
    );
  }
}

const BESIDE = /new URL\(\s*"([^"]+)",\s*import\.meta\.url\s*\)/g;

interface Found {
  specifier: string;
  start: number;
  end: number;
}

/** In programs by a lexer; it does not see `import("…")` where that is a type. */
function importsIn(path: string, text: string): Found[] {
  if (path.endsWith(".d.ts")) {
    return [...text.matchAll(IN_DECLARATIONS)].map(({ groups: { specifier = "" } = {}, indices }) => {
      const [start, end] = indices?.groups?.specifier ?? [0, 0];
      return { specifier, start, end };
    });
  }
  const [imports] = parse(text);
  return imports.flatMap(({ specifier, start, end }) => (specifier == null ? [] : [{ specifier, start, end }]));
}

const IN_DECLARATIONS = /(?:(?<=^|\n)(?:import|export|\})[^"\n]*|import\()"(?<specifier>[^"]+)"/dg;

/** What the programs of a folder read beside themselves by a fixed name, and is not there: `program → file`. */
export function missingBeside(folder: string): string[] {
  const files = filesIn(folder);
  const isThere = (path: string): boolean => files.some((file) => file === path || file.startsWith(`${path}/`));
  return files
    .filter((path) => /\.m?js$/.test(path))
    .flatMap((path) => {
      const named = [...readFileSync(path, "utf8").matchAll(BESIDE)].map(([, name = ""]) =>
        resolve(dirname(path), name),
      );
      const missing = named.filter((target) => !isThere(target));
      return missing.map((target) => `${relative(folder, path)} → ${relative(folder, target)}`);
    });
}

/** Removes declarations that nobody meets who begins at this file. */
export function keepDeclarations(folder: string, entry: string): void {
  const kept = new Set<string>();
  const waiting = [join(folder, entry)];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (kept.has(path)) continue;
    kept.add(path);
    for (const { specifier } of importsIn(path, readFileSync(path, "utf8"))) {
      if (specifier.startsWith(".")) waiting.push(resolve(dirname(path), specifier.replace(/\.js$/, ".d.ts")));
    }
  }
  for (const path of filesIn(folder)) if (path.endsWith(".d.ts") && !kept.has(path)) rmSync(path);
}
