import { join } from "node:path";
import { type OwnClamd, ownClamd } from "../../../src/engines/clamd/own-clamd.ts";
import { startEngine } from "../../../src/engines/variants.ts";
import { statusOf } from "../../../src/model/verdict.ts";
import type { Engine } from "../../../src/scan/engine.ts";
import { type CorpusFile, TooLarge } from "./corpus.ts";
import { type Payload, writeRules, writeSignatures } from "./payloads.ts";

/** The three ways in which people run us, each with an engine that knows the payloads it could know. */
interface SetUp {
  name: "Q" | "P with clamd" | "P alone";
  knows: readonly Payload["knownTo"][];
  engine: Engine;
}

export interface SetUps extends AsyncDisposable {
  all: readonly SetUp[];
  clamdPid: number;
}

const SCAN_LIMIT_MS = 120_000;

/** Everything lies in the folder, which is the caller's to remove. */
export async function startSetUps(folder: string, concurrency: number): Promise<SetUps> {
  writeSignatures(join(folder, "signatures"));
  writeRules(join(folder, "rules"));
  const clamd: OwnClamd = await ownClamd({
    folder: join(folder, "clamd"),
    signaturesDir: join(folder, "signatures"),
    config: { MaxThreads: String(concurrency) },
  });
  const address = { kind: "unix", path: clamd.socketPath } as const;
  const rules = { rulesDir: join(folder, "rules"), temporaryFolder: folder };
  const started: Engine[] = [];
  const stop = async (): Promise<void> => {
    for (const engine of started) await engine.close();
    await clamd.stop();
  };
  const start = async (parts: Parameters<typeof startEngine>[0]): Promise<Engine> => {
    const engine = await startEngine(parts);
    started.push(engine);
    return engine;
  };
  try {
    const all: SetUp[] = [
      { name: "Q", knows: ["clamd", "nobody"], engine: await start({ variant: "Q", clamd: address, concurrency }) },
      {
        name: "P with clamd",
        knows: ["clamd", "rule", "nobody"],
        engine: await start({ variant: "P", clamd: address, concurrency, rules }),
      },
      {
        name: "P alone",
        knows: ["rule", "nobody"],
        engine: await start({ variant: "P", clamd: undefined, concurrency, rules }),
      },
    ];
    return { all, clamdPid: clamd.pid, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export interface Answer {
  setUp: SetUp["name"];
  file: CorpusFile;
  /** `failed`: the engine gave no verdict at all. `other`: infected, by a name that is not the payload's. */
  status: "infected" | "other" | "no" | "clean" | "failed";
  finding: string;
}

/** What the set-ups that could know the payload say of a file. Nothing, if there is no such file. */
export async function ask(setUps: SetUps, file: CorpusFile): Promise<Answer[]> {
  const content = madeOr(file);
  if (!content) return [];
  const asked = setUps.all.filter(({ knows }) => knows.includes(file.payload.knownTo));
  return Promise.all(asked.map(({ name, engine }) => scan(engine, file, { name, content })));
}

/** Nothing, if there is no such file. */
export function madeOr(file: CorpusFile): Buffer | undefined {
  try {
    return file.make();
  } catch (error) {
    if (error instanceof TooLarge) return undefined;
    throw new Error(`cannot make ${file.name}`, { cause: error });
  }
}

async function scan(
  engine: Engine,
  file: CorpusFile,
  { name, content }: { name: SetUp["name"]; content: Buffer },
): Promise<Answer> {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield content;
  }
  try {
    const verdict = await engine.scan(bytes(), AbortSignal.timeout(SCAN_LIMIT_MS));
    const finding = verdict.kind === "clean" ? "" : verdict.finding;
    const status = statusOf(verdict);
    const other = status === "infected" && !finding.includes(file.payload.finding);
    return { setUp: name, file, status: other ? "other" : status, finding };
  } catch (error) {
    return { setUp: name, file, status: "failed", finding: error instanceof Error ? error.message : String(error) };
  }
}
