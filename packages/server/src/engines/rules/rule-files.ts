import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

/** One file of rules. Its name is the namespace of its rules, so that two files may use the same rule names. */
export interface RuleSource {
  name: string;
  text: string;
}

/** The rules that come with the server. */
export const BUILT_IN_RULES: string = fileURLToPath(new URL("../../../rules", import.meta.url));

/** All rule files of a folder, by name. Sub-folders are not looked into. */
export function readRules(folder: string): RuleSource[] {
  return ruleFiles(folder).map((path) => ({ name: basename(path), text: readFileSync(path, "utf8") }));
}

/** How many rules the sources hold; good for telling people, as it does not parse. */
export function countRules(sources: readonly RuleSource[]): number {
  const code = sources.map(({ text }) => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ""));
  return code.reduce((sum, text) => sum + (text.match(/^\s*((private|global)\s+)*rule\s+\w+/gm)?.length ?? 0), 0);
}

/** Changes whenever a rule file of the folder is added, removed or written, whatever time it is given afterwards. */
export function rulesFingerprint(folder: string): string {
  const marks = ruleFiles(folder).map((path) => {
    const { mtimeMs, ctimeMs, size, ino } = statSync(path);
    return `${path} ${mtimeMs} ${ctimeMs} ${size} ${ino}`;
  });
  return marks.join("\n");
}

/**
 * Calls `changed` when the folder's rules are not what they were at the fingerprint `since`. It looks every now and then instead of asking to be
 * told: folders on network drives and those mounted into containers do not tell. A change while `changed` is at work is
 * seen afterwards.
 */
export function watchRules(
  folder: string,
  changed: (sources: RuleSource[]) => Promise<void>,
  options: { since: string; everyMs: number; failed(error: unknown): "again" | "when-they-change" },
): Disposable {
  let known = options.since;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function poll(): Promise<void> {
    const before = known;
    try {
      const now = rulesFingerprint(folder);
      if (now !== known) {
        const sources = readRules(folder);
        known = now;
        await changed(sources);
      }
    } catch (error) {
      if (options.failed(error) === "again") known = before;
    }
    schedule();
  }

  function schedule(): void {
    if (!stopped) timer = setTimeout(() => void poll(), options.everyMs).unref();
  }

  schedule();
  return {
    [Symbol.dispose]() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

function ruleFiles(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => /^[^.].*\.yara?$/.test(name));
  return names.sort().map((name) => join(folder, name));
}
