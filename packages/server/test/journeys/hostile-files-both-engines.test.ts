// Apart from hostile-files.test.ts, so that the two run side by side.
import { hostileFilesSuite } from "../contracts/hostile-files.ts";
import { testClamd } from "../support/clamd.ts";
import { atTheEnd } from "../support/leftovers.ts";

const clamd = await testClamd({ MaxThreads: "4" });
atTheEnd(() => clamd[Symbol.asyncDispose]());

hostileFilesSuite("engine P with clamd", async (temporaryFolder) => ({
  variant: "P",
  clamd: { kind: "unix", path: clamd.socketPath },
  concurrency: 4,
  rules: { temporaryFolder },
}));
