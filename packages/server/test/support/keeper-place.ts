import assert from "node:assert/strict";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { ownAddress } from "../../src/engines/clamd/address.ts";
import { type ClamdKeeper, type KeeperOptions, keepClamd } from "../../src/engines/clamd/keeper/keep-clamd.ts";
import { type KeeperState, readKeeperState } from "../../src/engines/clamd/keeper/keeper-state.ts";
import { startEngine } from "../../src/engines/variants.ts";
import { log } from "../../src/log.ts";
import { EngineUnavailable } from "../../src/model/faults.ts";
import type { Engine } from "../../src/scan/engine.ts";
import { temporaryFolder, watchChild } from "./leftovers.ts";
import { eicarSignature } from "./signatures.ts";

/** Known to nobody before signatures for it come. */
export const news = Buffer.from("a line that only new signatures know\n");
export const newsSignature = `News:0:*:${news.toString("hex")}\n`;

export interface KeeperPlace extends AsyncDisposable {
  dataDir: string;
  signaturesDir: string;
  lines: Record<string, unknown>[];
  keep(options?: Partial<KeeperOptions>): ClamdKeeper;
  /** As freshclam does: whole, under another name first. */
  put(name: string, content: string | Uint8Array): void;
  state(): KeeperState | undefined;
  /** The service's engine, with its memory of verdicts. */
  engine(): Promise<Engine>;
}

/** Folders for a clamd of our own, with a signature for EICAR. */
export function keeperPlace(): KeeperPlace {
  const undo = new AsyncDisposableStack();
  const { path } = undo.use(temporaryFolder());
  const [dataDir, signaturesDir] = [join(path, "data"), join(path, "signatures")];
  mkdirSync(signaturesDir);
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => {
    const parsed = JSON.parse(line);
    lines.push(parsed);
    if (parsed.event === "clamd" && parsed.state === "started") watchChild(parsed.pid);
  };
  const put = (name: string, content: string | Uint8Array): void => {
    writeFileSync(join(path, name), content);
    renameSync(join(path, name), join(signaturesDir, name));
  };
  put("eicar.ndb", eicarSignature);
  return {
    dataDir,
    signaturesDir,
    lines,
    put,
    keep: (options) =>
      undo.use(
        keepClamd({
          dataDir,
          signaturesDir,
          signaturesSwitch: "beside",
          config: { MaxThreads: "4" },
          log: log({ level: "info", format: "json", write }),
          pauseSeconds: () => 0,
          lookEveryMs: 25,
          ...options,
        }),
      ),
    state: () => readKeeperState(join(dataDir, "clamd")),
    async engine() {
      const clamd = ownAddress(dataDir);
      const engine = await startEngine({ variant: "Q", clamd, concurrency: 4, keptFor: dataDir, verdictCache: 100 });
      undo.defer(() => engine.close());
      return engine;
    },
    [Symbol.asyncDispose]: () => undo.disposeAsync(),
  };
}

/** `clean`, `infected`, with `cached` before it if it was remembered; `none` when there is no verdict. */
export async function verdict(engine: Engine, bytes: Uint8Array): Promise<string> {
  try {
    const said = await engine.scan(Readable.from([bytes]), AbortSignal.timeout(60_000));
    return `${"cached" in said && said.cached ? "cached " : ""}${said.kind}`;
  } catch (error) {
    assert.ok(error instanceof EngineUnavailable, String(error));
    return "none";
  }
}
