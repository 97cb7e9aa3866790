import {
  type ClamdAddress,
  describeAddress,
  findClamd,
  ownAddress,
  parseClamdAddress,
} from "../engines/clamd/address.ts";
import { forgetClamd, rememberClamd, rememberedClamd } from "../engines/clamd/last-seen.ts";
import { clamdBinary } from "../engines/clamd/own-clamd.ts";
import { runFolder, withRunFolder } from "../engines/run-folder.ts";
import type { ThreadsEvent } from "../engines/threads/scan-threads.ts";
import { type ClamdSearch, startEngine, type VariantParts } from "../engines/variants.ts";
import type { Log } from "../log.ts";
import { makeFolder } from "../platforms/shared/durable-file.ts";
import type { Engine } from "../scan/engine.ts";
import type { Settings } from "../settings.ts";
import { CannotStart } from "./cannot-start.ts";

export interface EnginePartsOptions {
  log: Log;
  /** It stays, so that clamd may come later; what came is remembered in the data folder. Otherwise clamd is searched for once. */
  stays: boolean;
  /** Where `auto` searches for clamd, if not at the usual sockets. */
  clamdSockets?: readonly string[] | undefined;
  onPart?: VariantParts["onPart"];
}

/** The engine that the settings ask for, with a folder of this process for its temporary files. */
export interface StartedEngine extends AsyncDisposable {
  engine: Engine;
  parts: VariantParts;
  temporaryFolder: string;
}

export async function startEngineOf(
  settings: Settings,
  concurrency: number,
  options: EnginePartsOptions,
): Promise<StartedEngine> {
  await using undo = new AsyncDisposableStack();
  const parts = engineParts(settings, concurrency, options);
  const { path } = undo.use(await runFolder());
  const engine = await startEngine({ ...withRunFolder(parts, path), onPart: options.onPart }).catch((error: Error) => {
    throw cannotStartEngine(settings, error);
  });
  undo.defer(() => engine.close());
  const disposing = undo.move();
  return { engine, parts, temporaryFolder: path, [Symbol.asyncDispose]: () => disposing.disposeAsync() };
}

/** With a rules folder of the operator's own, what is wrong is most likely in there. */
function cannotStartEngine(settings: Settings, error: Error): Error {
  if (settings.engine !== "P" || settings.rulesDir === "") return error;
  return new CannotStart(
    `cannot start engine P with the rules in ${settings.rulesDir}: ${error.message}`,
    "LAZARET_RULES_DIR must be a folder of .yar files that compile; docs/rules.md tells how to write one",
    { cause: error },
  );
}

/**
 * Which engine the settings ask for.
 * @internal tested by table
 */
export function engineParts(settings: Settings, concurrency: number, options: EnginePartsOptions): VariantParts {
  const { engine: variant, rulesDir, packedPrograms, ciphertext } = settings;
  // What is scanned once and then ends has nothing to remember.
  const common = {
    ...(options.stays && { verdictCache: settings.verdictCache }),
    ...(settings.clamd === "own" && { keptFor: settings.dataDir }),
  };
  const onEvent = (event: ThreadsEvent): void => logThreads(options.log, event);
  const clamd = clamdPart(settings, options);
  if (variant === "P") {
    const rules = { ...(rulesDir !== "" && { rulesDir }), packedPrograms, ciphertext, onEvent };
    return { variant, clamd, concurrency, rules, ...common };
  }
  // clamd undoes packers by itself, and there is nobody else to show the program to.
  const unpacking = { packedPrograms: "clean", ciphertext, onEvent } as const;
  if (clamd?.kind === "search") {
    const required = clamd.required ?? (clamd.likely ? NO_SOCKET : undefined);
    if (required !== undefined) return { variant, clamd: { ...clamd, required }, concurrency, unpacking, ...common };
  } else if (clamd) return { variant, clamd, concurrency, unpacking, ...common };
  throw new CannotStart(
    settings.clamd === "none" ? "engine Q needs clamd, and LAZARET_CLAMD is none" : NO_SOCKET,
    `${START_CLAMD}, say where it listens (LAZARET_CLAMD=unix:/path/clamd.ctl), or use LAZARET_ENGINE=P to scan with the built-in rules alone`,
  );
}

const NO_SOCKET = "no clamd socket in any of the usual places";
const START_CLAMD = "start clamd (Debian: apt-get install clamav-daemon)";

/** Undefined: none is wanted, or none is there and nobody waits for it. */
function clamdPart(settings: Settings, options: EnginePartsOptions): ClamdAddress | ClamdSearch | undefined {
  const { clamd: setting, requireClamd, dataDir } = settings;
  const { log, stays } = options;
  if (setting === "none" && requireClamd) {
    throw new CannotStart("LAZARET_REQUIRE_CLAMD is true, and LAZARET_CLAMD is none", "change one of them");
  }
  if (setting === "none" && stays) forgetClamd(dataDir, log);
  if (setting === "own") return ownAddress(dataDir);
  if (setting !== "auto") return parseClamdAddress(setting);

  const find = (): ClamdAddress | undefined => findClamd(options.clamdSockets);
  const found = find();
  const remember = (address: ClamdAddress): void => {
    // What is wrong with the folder is said by who needs it.
    try {
      makeFolder(dataDir, 0o700);
    } catch {}
    rememberClamd(dataDir, address, log);
  };
  if (found && stays) remember(found);
  if (found || (!stays && !requireClamd)) return found;
  const required = whyRequired(settings, stays);
  const likely = clamdBinary() !== undefined;
  if (stays && (likely || required !== undefined)) {
    const message = required ?? "clamd is installed on this machine, and none of the usual sockets is there";
    const hint = "start it (Debian: systemctl enable --now clamav-daemon); LAZARET_CLAMD=none goes without";
    log.error("clamd_missing", { error: message, hint });
  }
  return {
    kind: "search",
    find,
    likely,
    ...(required !== undefined && { required }),
    onFound(address) {
      log("clamd_found", { clamd: describeAddress(address) });
      if (stays) remember(address);
    },
  };
}

function whyRequired({ requireClamd, dataDir }: Settings, stays: boolean): string | undefined {
  if (requireClamd) return `${NO_SOCKET}, and LAZARET_REQUIRE_CLAMD is true`;
  const before = stays ? rememberedClamd(dataDir) : undefined;
  return before && `clamd was in use at ${before} and is gone: start it, or set LAZARET_CLAMD=none to go on without`;
}

function logThreads(log: Log, event: ThreadsEvent): void {
  if (event.kind === "rules_loaded") {
    log("rules_loaded", { rules: event.rules, own: event.own, warnings: event.warnings.join("; ") || undefined });
  } else if (event.kind === "thread_lost") log.error(event.kind, { error: event.message, again: event.again });
  else log.error(event.kind, { error: event.message });
}
