import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Files of the project by their path, as they would be. */
export type Changes = ReadonlyMap<string, string>;

export interface Unreleased {
  version: string;
  /** What the changelog says of it. */
  notes: string;
}

/** The top part of the changelog. */
export function topOfChangelog(text: string): Unreleased & { released: boolean } {
  const found = /^## (\S+) \(([^)]+)\)\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text);
  if (!found) throw new Error("CHANGELOG.md has no part that begins with ## <version> (unreleased)");
  const [, version = "", state, notes = ""] = found;
  return { version, notes: notes.trim(), released: state !== "unreleased" };
}

/** `major`, `minor` and `patch` count from the last version; what else is asked for must be a version. */
export function versionAsked(
  asked: string | undefined,
  { version, released }: ReturnType<typeof topOfChangelog>,
): string {
  if (asked === undefined) return version;
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  if (asked === "major") return `${major + 1}.0.0`;
  if (asked === "minor") return `${major}.${minor + 1}.0`;
  if (asked === "patch") return `${major}.${minor}.${patch + 1}`;
  if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(asked))
    throw new Error(`${asked} is no version: 1.2.3, major, minor or patch`);
  if (released && asked === version) throw new Error(`${version} is released already`);
  return asked;
}

/** What a release writes: the version in every manifest, the lock file and the chart, and the day in the changelog. */
export function changesFor(root: string, version: string, day: string): Changes {
  const read = (path: string): string => readFileSync(join(root, path), "utf8");
  const changes = new Map<string, string>();
  const folders = readdirSync(join(root, "packages")).map((name) => `packages/${name}`);
  for (const path of ["package.json", ...folders.map((folder) => `${folder}/package.json`)]) {
    changes.set(path, json(withVersion(JSON.parse(read(path)), version)));
  }
  const lock = withVersion<LockFile>(JSON.parse(read("package-lock.json")), version);
  for (const place of ["", ...folders]) {
    const found = lock.packages[place];
    if (!found) throw new Error(`package-lock.json lacks ${place || "the root"}: npm install adds it`);
    lock.packages[place] = withVersion(found, version);
  }
  changes.set("package-lock.json", json(lock));
  const chart = "deploy/helm/lazaret/Chart.yaml";
  changes.set(
    chart,
    read(chart).replace(
      /^(version|appVersion): .*$/gm,
      (_, name) => `${name}: ${name === "version" ? version : `"${version}"`}`,
    ),
  );
  const changelog = read("CHANGELOG.md");
  const { released } = topOfChangelog(changelog);
  changes.set(
    "CHANGELOG.md",
    released ? changelog : changelog.replace(/^## \S+ \(unreleased\)$/m, `## ${version} (${day})`),
  );
  return new Map([...changes].filter(([path, text]) => text !== read(path)));
}

interface Versioned {
  version: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  /** Whatever else npm keeps there stays. */
  [other: string]: unknown;
}

interface LockFile extends Versioned {
  packages: Record<string, Versioned>;
}

function withVersion<Kind extends Versioned>(manifest: Kind, version: string): Kind {
  const ours = (all: Record<string, string>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(all).map(([name, asked]) => [name, name.startsWith("@lazaret/") ? version : asked]),
    );
  const result: Kind = { ...manifest, version };
  if (manifest.dependencies) result.dependencies = ours(manifest.dependencies);
  if (manifest.devDependencies) result.devDependencies = ours(manifest.devDependencies);
  return result;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
