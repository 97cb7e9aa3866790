// npm run chaos: kills the service while it works, and checks that it keeps its promises. docs/reliability.md.
import { parseArgs } from "node:util";
import { chaos } from "./chaos.ts";
import { inWords } from "./in-words.ts";
import { type PlatformName, platforms } from "./storage.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    jobs: { type: "string", default: "10000" },
    kills: { type: "string", default: "50" },
    "gap-seconds": { type: "string", default: "12" },
    "deaf-share": { type: "string", default: "0.02" },
    "duplicate-share": { type: "string", default: "0.1" },
    platform: { type: "string", default: "embedded" },
    killers: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});

function number(name: keyof typeof values): number {
  const value = Number(values[name]);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new Error(`--${name} must be a number, and is ${values[name]}`);
}

function platform(): PlatformName {
  const found = platforms.find((name) => name === values.platform);
  if (found) return found;
  throw new Error(`--platform must be ${platforms.join(", ")}, and is ${values.platform}`);
}

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.once(name, () => stop.abort(new Error(`ended by ${name}`)));
}

const seed = number("seed");
const say = (text: string): void => console.error(`chaos ${seed}: ${text}`);
try {
  const outcome = await chaos(
    {
      seed,
      jobs: number("jobs"),
      kills: number("kills"),
      gapSeconds: number("gap-seconds"),
      deafShare: number("deaf-share"),
      duplicateShare: number("duplicate-share"),
      platform: platform(),
      killers: number("killers"),
      progress: say,
    },
    stop.signal,
  );
  console.log(values.json ? JSON.stringify(outcome, null, 2) : inWords(outcome));
  process.exitCode = outcome.breaches.length === 0 ? 0 : 1;
} catch (error) {
  say(`the run could not be done: ${error instanceof Error ? error.stack : error}`);
  process.exitCode = 1;
}
