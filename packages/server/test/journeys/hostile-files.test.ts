import { hostileFilesSuite } from "../contracts/hostile-files.ts";
import { testClamd } from "../support/clamd.ts";
import { atTheEnd } from "../support/leftovers.ts";

const clamd = await testClamd({ MaxThreads: "4" });
atTheEnd(() => clamd[Symbol.asyncDispose]());
const address = { kind: "unix", path: clamd.socketPath } as const;
const concurrency = 4;
/** It is about the limits of size and number: on a busy machine the limit of time would be met first. */
const timeLimitMs = 110_000;

hostileFilesSuite("engine Q", async (temporaryFolder) => ({
  variant: "Q",
  clamd: address,
  concurrency,
  unpacking: { temporaryFolder },
}));
hostileFilesSuite("engine P without clamd", async (temporaryFolder) => ({
  variant: "P",
  clamd: undefined,
  concurrency,
  rules: { temporaryFolder, timeLimitMs },
}));
