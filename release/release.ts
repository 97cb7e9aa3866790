import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Changes, changesFor, topOfChangelog, versionAsked } from "./new-version.ts";
import { run } from "./project.ts";

export interface ReleaseOptions {
  /** The clone. */
  root: string;
  out: string;
  /** A version, or `major`, `minor`, `patch`; without it the one that stands in the changelog. */
  asked?: string | undefined;
  dryRun: boolean;
  /** SOURCE_DATE_EPOCH; without it the time of the commit, or in a real release that of the commit it makes. */
  epochSeconds?: number | undefined;
  /** Writes tarballs and bills of materials into a folder. */
  build(out: string, version: string, epochSeconds: number): Promise<void>;
  /** What else is made from what changed. */
  afterWriting(changes: Changes): void;
  say(line: string): void;
}

/**
 * Versions and changelog, then everything that is published, in a folder. A dry run changes nothing of the clone. A real one commits and tags, and
 * says what publishes it: that takes a second factor, so it stays with a person.
 */
export async function release(options: ReleaseOptions): Promise<void> {
  const { root, out, dryRun, say, build } = options;
  const git = (...args: string[]): string => run("git", args, { cwd: root }).trim();
  const top = topOfChangelog(readFileSync(join(root, "CHANGELOG.md"), "utf8"));
  const version = versionAsked(options.asked, top);
  const tag = `v${version}`;
  if (!dryRun) mayRelease({ git, top, tag });
  else if (git("status", "--porcelain") !== "")
    say("the clone has changes that are in no commit: nobody else can make these bytes");
  const committed = Number(git("log", "-1", "--format=%ct"));
  const epoch = options.epochSeconds ?? (dryRun ? committed : Math.floor(Date.now() / 1000));
  const changes = changesFor(root, version, new Date(epoch * 1000).toISOString().slice(0, 10));

  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  await build(out, version, epoch);
  writeFileSync(join(out, `release-notes-${version}.md`), `# Lazaret ${version}\n\n${top.notes}\n`);
  writeFileSync(join(out, "SHA256SUMS"), sumsOf(out));
  for (const path of changes.keys()) say(`${dryRun ? "would change" : "changes"} ${path}`);
  say(readFileSync(join(out, "SHA256SUMS"), "utf8").trimEnd());
  if (dryRun) return say(`dry run of ${version}: nothing was committed, tagged or published`);

  write(root, changes);
  try {
    options.afterWriting(changes);
    const at = `@${epoch} +0000`;
    const dated = { cwd: root, env: { ...process.env, GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at } };
    run("git", ["commit", "--all", "--allow-empty", "--message", `release: ${version}`], dated);
    run("git", ["tag", "--annotate", tag, "--message", `Lazaret ${version}`], dated);
  } catch (error) {
    git("checkout", "--", ".");
    throw error;
  }
  say(`committed and tagged ${tag}. To publish it:`);
  say(`  git push origin HEAD ${tag}`);
  for (const name of readdirSync(out)
    .filter((each) => each.endsWith(".tgz"))
    .sort()
    .reverse()) {
    say(`  npm publish ${join(out, name)} --access public`);
  }
}

interface Before {
  git(...args: string[]): string;
  top: ReturnType<typeof topOfChangelog>;
  tag: string;
}

function mayRelease({ git, top, tag }: Before): void {
  if (git("status", "--porcelain") !== "")
    throw new Error("the clone has changes that are in no commit: commit or remove them");
  if (git("tag", "--list", tag) !== "") throw new Error(`${tag} is there already: choose another version`);
  if (top.released)
    throw new Error("the top part of CHANGELOG.md is released already: begin a new one, ## <version> (unreleased)");
  if (top.notes === "") throw new Error("CHANGELOG.md says nothing of this version");
}

function write(root: string, changes: Changes): void {
  for (const [path, text] of changes) writeFileSync(join(root, path), text);
}

/** For `sha256sum --check`. */
function sumsOf(folder: string): string {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return names
    .map(({ name }) => name)
    .sort()
    .map(
      (name) =>
        `${createHash("sha256")
          .update(readFileSync(join(folder, name)))
          .digest("hex")}  ${name}\n`,
    )
    .join("");
}
