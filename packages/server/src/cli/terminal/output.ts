import { styleText } from "node:util";

/** As a shell says of a program that a broken pipe ended. */
const EXIT_BROKEN_PIPE = 141;
let watched = false;

/** Writes to stdout, where data goes and nothing else. When its reader leaves, the program ends quietly. */
export function out(text: string): void {
  if (!watched) {
    watched = true;
    process.stdout.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(EXIT_BROKEN_PIPE);
      throw error;
    });
  }
  process.stdout.write(text);
}

/** Writes to stderr, where everything goes that is no data. */
export function say(text: string): void {
  process.stderr.write(text);
}

/** Text as it is, anything else as indented JSON. */
export function print(value: unknown): void {
  out(typeof value === "string" ? value : `${JSON.stringify(value, null, 2)}\n`);
}

const colours = { clean: "green", ok: "green", infected: "red", fail: "red", no: "yellow", warn: "yellow" } as const;

/** A word in its colour, on a terminal that has any and without NO_COLOR. */
export function coloured(word: keyof typeof colours, shown: string = word): string {
  return styleText(colours[word], shown, { stream: process.stdout });
}
