import { fileURLToPath } from "node:url";
import { type OwnClamd, ownClamd } from "../../src/engines/clamd/own-clamd.ts";
import { temporaryFolder, watchChild } from "./leftovers.ts";

const signaturesDir = fileURLToPath(new URL("../../signatures", import.meta.url));

export interface TestClamd extends AsyncDisposable {
  readonly socketPath: string;
  readonly pid: number;
  folder: string;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /** Starts it again where it was. */
  start(): Promise<void>;
}

/** A real clamd with the recommended configuration and our own signatures. */
export async function testClamd(config: Record<string, string> = {}): Promise<TestClamd> {
  const folder = temporaryFolder();
  let clamd: OwnClamd;
  const start = async (): Promise<void> => {
    clamd = await ownClamd({ folder: folder.path, signaturesDir, config });
    watchChild(clamd.pid);
  };
  await start();
  return {
    get socketPath() {
      return clamd.socketPath;
    },
    get pid() {
      return clamd.pid;
    },
    folder: folder.path,
    kill: () => clamd.kill(),
    start,
    async [Symbol.asyncDispose]() {
      await clamd.stop();
      folder[Symbol.dispose]();
    },
  };
}
