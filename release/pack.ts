import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { stageClient } from "./client-package.ts";
import { filesIn, npm } from "./project.ts";
import { stageService } from "./service-package.ts";

const stages = { lazaret: stageService, "lazaret-client": stageClient };
export type Packed = Record<keyof typeof stages, string>;

/** Builds both packages from the sources and packs them. Answers the paths of the tarballs; what they were made of is in `packages` beside them. */
export function packAll(out: string, version: string): Packed {
  mkdirSync(out, { recursive: true });
  return Object.fromEntries(
    Object.entries(stages).map(([name, stage]) => {
      const folder = join(out, "packages", name);
      rmSync(folder, { recursive: true, force: true });
      stage(folder, version);
      return [name, pack(folder, out)];
    }),
  ) as Packed;
}

/** npm gives every file the same time. Rights are the machine's, so they are set here. */
export function pack(folder: string, out: string): string {
  for (const path of filesIn(folder)) chmodSync(path, path.includes("/bin/") ? 0o755 : 0o644);
  const said = npm(["pack", folder, "--pack-destination", out, "--json", "--ignore-scripts", "--loglevel=error"]);
  const [packed] = JSON.parse(said) as { filename: string }[];
  if (!packed) throw new Error(`npm packed nothing of ${folder}`);
  return join(out, packed.filename);
}
