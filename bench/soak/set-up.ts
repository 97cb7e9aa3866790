import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ownClamd } from "../../packages/server/src/engines/clamd/own-clamd.ts";
import { LAZARET, lineWith, SHIPPED, start } from "../processes.ts";
import { pidOf } from "../services.ts";
import type { Leak } from "./arguments.ts";
import { API_KEY } from "./client.ts";
import { type Expected, type Files, soakFiles } from "./files.ts";
import type { Places } from "./readings.ts";
import { BUCKET } from "./requests.ts";

export interface SetUpOptions {
  engine: "P" | "Q";
  /** Makes the service leak, to see that the soak notices. */
  leak: Leak | undefined;
}

/** The service as users run it, with a clamd of its own. */
export interface SetUp extends AsyncDisposable {
  port: number;
  places: Places;
  files: Files;
  objects: ReadonlyMap<string, Expected>;
  /** Undefined while it runs. */
  readonly ended: string | undefined;
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** What statfs(2) calls a file system in memory, where a sync costs nothing. */
const TMPFS = 0x01021994;
const OBJECTS = 40;
/**
 * What is bounded by settings is bounded small, so that it is full before anything is judged; with what is usual it would fill up for
 * hours, and look like a leak all that time.
 */
const SMALL_BOUNDS = {
  LAZARET_VERDICT_CACHE: "1000",
  LAZARET_HISTORY_MOST: "100",
  LAZARET_FINDINGS_MOST: "100",
};

export async function setUp({ engine, leak }: SetUpOptions): Promise<SetUp> {
  await using undo = new AsyncDisposableStack();
  const disk = statfsSync(tmpdir()).type === TMPFS ? here("..") : tmpdir();
  const folder = mkdtempSync(join(disk, "lazaret-soak-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  undo.defer(remove);

  const dataDir = join(folder, "data");
  const folders = { signatures: join(folder, "signatures"), rules: join(folder, "rules") };
  const files = soakFiles(folders, engine);
  const ours = here("../../packages/server/signatures");
  for (const name of readdirSync(ours)) copyFileSync(join(ours, name), join(folders.signatures, name));
  const objects = writeObjects(join(dataDir, "buckets", BUCKET), files);
  const temporaryDir = join(folder, "tmp");
  mkdirSync(temporaryDir);

  const clamd = undo.use(await ownClamd({ folder: join(folder, "clamd"), signaturesDir: folders.signatures }));
  const leaks = leak ? ["--import", here("leaks.mjs")] : [];
  const measured = start(process.execPath, [...leaks, ...LAZARET, "serve"], {
    ...SHIPPED,
    ...SMALL_BOUNDS,
    ...(leak && { SOAK_LEAK: leak, SOAK_LEAK_FOLDER: dataDir }),
    TMPDIR: temporaryDir,
    LAZARET_API_KEYS: API_KEY,
    LAZARET_ENGINE: engine,
    LAZARET_CLAMD: `unix:${clamd.socketPath}`,
    LAZARET_DATA_DIR: dataDir,
    ...(engine === "P" && { LAZARET_RULES_DIR: folders.rules }),
    LAZARET_HOST: "127.0.0.1",
    LAZARET_PORT: "0",
    LAZARET_DRAIN_SECONDS: "0",
    LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
    LAZARET_ALLOW_CALLBACK_NETWORKS: "127.0.0.0/8",
    LAZARET_ALLOW_HTTP_CALLBACKS: "true",
    LAZARET_SIGN_CALLBACK_INVOCATIONS: "true",
  });
  // After the handler that ends the service, which writes there.
  process.once("exit", remove);
  undo.defer(() => void process.off("exit", remove));
  let ended: string | undefined;
  let stopping = false;
  measured.child.once("exit", (code, signal) => {
    if (!stopping) ended = `the service ended by itself: ${signal ?? `exit code ${code}`}`;
  });
  undo.defer(async () => {
    stopping = true;
    if (ended === undefined) await measured.stop();
  });
  const [, port] = await lineWith(measured, /"event":"listening".*"port":(\d+)/);
  measured.ignoreOutput();
  const all = undo.move();
  return {
    port: Number(port),
    places: {
      pid: pidOf(measured),
      clamdPid: clamd.pid,
      dataDir,
      temporaryDirs: [temporaryDir, clamd.temporaryDir],
    },
    files,
    objects,
    get ended() {
      return ended;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function writeObjects(bucket: string, files: Files): Map<string, Expected> {
  mkdirSync(bucket, { recursive: true });
  return new Map(
    Array.from({ length: OBJECTS }, (_, number) => {
      const key = `object-${number}.txt`;
      const { parts, expected } = files.make({ number, bytes: 1000 * 1.15 ** number });
      writeFileSync(join(bucket, key), Buffer.concat(parts));
      return [key, expected] as const;
    }),
  );
}
