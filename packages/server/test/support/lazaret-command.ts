import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const binary = fileURLToPath(new URL("../../bin/lazaret.mjs", import.meta.url));
const [, flags] = /^#!\S+ -S node (.*)$/m.exec(readFileSync(binary, "utf8")) ?? [];
if (flags === undefined) throw new Error(`cannot read how ${binary} is started: it has no such first line`);

/**
 * The real `lazaret`, started as its first line has it. Without these flags it sets them itself: V8 then refuses all that processes
 * without them have compiled and kept, and those refuse what it keeps, so that each compiles everything again.
 */
export const lazaretCommand: readonly [program: string, ...args: string[]] = [
  process.execPath,
  ...flags.split(" "),
  binary,
];
