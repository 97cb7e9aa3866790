#!/usr/bin/env node
// Plain JavaScript, so that an old Node can still read it and say what is wrong.
if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    `lazaret: needs Node 24 or newer, and this is ${process.version}\n` +
      "hint: install Node 24; in a clone of the project npm start and npx bring it along\n",
  );
  process.exit(78);
}
// Keeps the compiled sources, which halves the next start. Not in Node's default below /tmp, where others could put code of theirs.
const home = process.env.HOME;
if (home) (await import("node:module")).enableCompileCache(`${home}/.cache/lazaret`);
await import("../src/main.ts");
