import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { broken, type Mutant } from "./mutant.ts";

/** A copy of the repository that may be broken. The repository itself is never written to. */
export interface TreeCopy extends Disposable {
  path: string;
  /** Breaks one file, until what it answers is disposed of. */
  breakWith(mutant: Mutant): Disposable;
}

/** What git knows or would add, with packages from npm as links to those that are installed. */
export function copyTree(root: string): TreeCopy {
  const path = mkdtempSync(join(tmpdir(), "lazaret-mutants-"));
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root });
  for (const name of listed
    .toString()
    .split("\0")
    .filter((each) => each !== "" && existsSync(join(root, each)))) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    cpSync(join(root, name), join(path, name));
  }
  for (const folder of ["", "packages/server", "packages/client", "packages/contract", "deploy/cdk"]) {
    linkPackages(join(root, folder, "node_modules"), join(path, folder, "node_modules"));
  }
  // Ours must be those of the copy, not those of the repository that npm's links lead to.
  const ours = join(path, "node_modules/@lazaret");
  rmSync(ours, { recursive: true, force: true });
  mkdirSync(ours);
  for (const name of ["contract", "client", "server"]) symlinkSync(join(path, "packages", name), join(ours, name));

  const remove = (): void => rmSync(path, { recursive: true, force: true });
  process.once("exit", remove);
  return {
    path,
    breakWith(mutant) {
      const file = join(path, mutant.file);
      const whole = readFileSync(file, "utf8");
      writeFileSync(file, broken(whole, mutant));
      return { [Symbol.dispose]: () => writeFileSync(file, whole) };
    },
    [Symbol.dispose]() {
      process.off("exit", remove);
      remove();
    },
  };
}

function linkPackages(from: string, to: string): void {
  if (!existsSync(from)) return;
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    // Relative links inside lead back into the repository, where the packages are.
    symlinkSync(join(from, name), join(to, name));
  }
}
