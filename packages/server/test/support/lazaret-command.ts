import { fileURLToPath } from "node:url";

/** The real `lazaret`. */
export const lazaretCommand: readonly [program: string, ...args: string[]] = [
  process.execPath,
  fileURLToPath(new URL("../../bin/lazaret.mjs", import.meta.url)),
];
