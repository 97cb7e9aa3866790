#!/usr/bin/env node
// Plain JavaScript, so that an old Node can still read it and say what is wrong.
import { readFileSync } from "node:fs";

// The sources need a newer Node than the package that is built from them.
const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const oldest = engines.node.replace(">=", "");
const [wantedMajor, wantedMinor = 0] = oldest.split(".").map(Number);
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < wantedMajor || (major === wantedMajor && minor < wantedMinor)) {
  process.stderr.write(
    `lazaret: needs Node ${oldest} or newer, and this is ${process.version}\n` +
      "hint: install Node 24; in a clone of the project npm start and npx bring it along\n",
  );
  process.exit(78);
}
// Node 22 warns of its SQLite whenever that is loaded. It is the same that Node 24 no longer warns of.
if (major < 24) {
  const emit = process.emitWarning.bind(process);
  process.emitWarning = (warning, ...more) => {
    if (!String(warning).startsWith("SQLite is an experimental feature")) emit(warning, ...more);
  };
}
// Keeps the compiled sources between runs, so that the next start is quicker; in the environment, for the processes and threads that are
// started from here. In a folder that is this user's alone: who could write there could have any code run.
if (!process.env.NODE_COMPILE_CACHE && !process.env.NODE_DISABLE_COMPILE_CACHE) {
  const [{ enableCompileCache }, { lstatSync, mkdirSync }, { tmpdir }, { join }] = await Promise.all([
    import("node:module"),
    import("node:fs"),
    import("node:os"),
    import("node:path"),
  ]);
  const user = process.getuid?.();
  const folder = join(tmpdir(), `lazaret-compiled-${user ?? "user"}`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = lstatSync(folder);
    if (found.isDirectory() && (user === undefined || (found.uid === user && (found.mode & 0o077) === 0))) {
      process.env.NODE_COMPILE_CACHE = folder;
      enableCompileCache(folder);
    }
  } catch {
    // A machine that cannot keep anything starts a little slower.
  }
}
await import("../src/main.ts");
