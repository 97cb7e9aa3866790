import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startLazaret } from "../examples/start-server.ts";
import { temporaryFolder } from "../support/leftovers.ts";

export const root: string = fileURLToPath(new URL("../../../..", import.meta.url));

/** Where pages are followed: a folder that looks like a clone of the project, and `lazaret dev` running in it. */
export interface Place extends AsyncDisposable {
  folder: string;
  origin: string;
  /** For programs that ask this server. */
  env: Readonly<Record<string, string>>;
  /** The sources of all examples. */
  examples: string;
}

export async function place(): Promise<Place> {
  const folder = temporaryFolder();
  for (const name of ["LICENSE", "examples", "node_modules"]) symlinkSync(join(root, name), join(folder.path, name));
  writeFileSync(join(folder.path, "package.json"), '{ "type": "module" }');
  const env = { LAZARET_CLAMD: "none" };
  const server = await startLazaret({
    args: ["dev"],
    cwd: folder.path,
    env: { ...env, LAZARET_PORT: "0" },
  });
  const key = readFileSync(join(folder.path, "data/dev-key"), "utf8").trim();
  return {
    folder: folder.path,
    origin: server.origin,
    env: { ...env, LAZARET_URL: server.origin, LAZARET_API_KEY: key },
    examples: exampleSources(),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

function exampleSources(): string {
  const folder = join(root, "examples");
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  return paths.map((path) => readFileSync(join(folder, path), "utf8")).join("\n");
}
