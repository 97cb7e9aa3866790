import { availableParallelism } from "node:os";
import { type ClamdAddress, configuredClamd, describeAddress } from "../../engines/clamd/address.ts";
import { clamd } from "../../engines/clamd/clamd.ts";
import { type ClamdConf, findClamdConf, readClamdConf } from "../../engines/clamd/clamd-conf.ts";
import { freeIn, leftoversIn, roomOf } from "../../engines/clamd/clamd-folder.ts";
import { rememberedClamd } from "../../engines/clamd/last-seen.ts";
import { clamdBinary } from "../../engines/clamd/own-clamd.ts";
import { askVersion, type ClamdVersion, signatureWords } from "../../engines/clamd/version.ts";
import { timeLimit } from "../../flow/time-limit.ts";
import { concurrencyOf } from "../../pipeline/limits.ts";
import { ageKind } from "../../pipeline/signature-age.ts";
import type { Settings } from "../../settings.ts";
import { inBytes } from "../terminal/output.ts";
import { type Check, fail, ok, warn } from "./check.ts";
import { keeperChecks } from "./keeper-checks.ts";

export interface ClamdChecksOptions {
  settings: Settings;
  /** Where clamd's configuration is, if it is not found by itself. */
  confPath?: string | undefined;
  now: number;
  /** Where `auto` looks for clamd, if not at the usual sockets. */
  clamdSockets?: readonly string[];
}

const TIMEOUT_MS = 15_000;
/** Nothing that clamd still works on is that old. */
const OLD_LEFTOVER_MS = 3_600_000;
const MIB = 1024 * 1024;
/** Of deploy/clamd.conf. */
const RECOMMENDED_THREADS = 32;
/** A scan takes a whole vCPU: more threads than this make nothing faster. */
const THREADS_PER_VCPU = 4;
/** Test files and readiness. */
const FURTHER_CONNECTIONS = 3;

/** Is there a clamd, how old are its signatures, and do its limits go with ours? */
export async function clamdChecks(options: ClamdChecksOptions): Promise<Check[]> {
  const { settings, confPath, now, clamdSockets } = options;
  const { checks: kept, runs } =
    settings.clamd === "own" ? await keeperChecks(settings, now) : { checks: [], runs: true };
  if (!runs) return kept;
  const address = configuredClamd(settings, clamdSockets);
  if (!address) return [missing(settings)];
  const where = describeAddress(address);
  using limit = timeLimit(TIMEOUT_MS);
  try {
    const version = await askVersion(address, TIMEOUT_MS, limit.signal);
    const conf = confPath === undefined ? findClamdConf(address) : readClamdConf(confPath);
    return [
      ...kept,
      ok("clamd", `${version.product} at ${where}`),
      ageCheck(version, settings, now),
      await canaryCheck(address),
      ...addressChecks(address),
      ...(conf ? [...(await folderChecks(conf.temporaryDir)), ...limitChecks(conf, settings)] : [unseen(where)]),
    ];
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
    const message = `${error instanceof Error ? error.message : String(error)}${cause}`;
    return [fail("clamd", message, "start clamd, and see that this user may reach its socket (group clamav)")];
  }
}

function missing({ engine, clamd, requireClamd, dataDir }: Settings): Check {
  if (clamd === "none" && requireClamd) {
    return fail("clamd", "LAZARET_CLAMD is none, and LAZARET_REQUIRE_CLAMD is true", "change one of them");
  }
  const installed = clamd === "auto" && clamdBinary() !== undefined;
  const none = installed ? "clamd is installed here, but none of the usual sockets is there" : NO_SOCKET;
  const why = clamd === "none" ? "LAZARET_CLAMD is none" : none;
  const fix = installed
    ? "start it (Debian: systemctl enable --now clamav-daemon), or say where it listens with LAZARET_CLAMD"
    : "start clamd (Debian: apt-get install clamav-daemon), or say where it listens with LAZARET_CLAMD";
  if (engine === "Q") return fail("clamd", `${why}, and engine Q is clamd alone`, fix);
  if (requireClamd) return fail("clamd", `${why}, and LAZARET_REQUIRE_CLAMD is true: nothing is clean`, fix);
  const before = clamd === "auto" ? rememberedClamd(dataDir) : undefined;
  if (before) {
    const detail = `${why}, and it was in use at ${before}: until it is back nothing is clean`;
    return fail("clamd", detail, `${fix}; LAZARET_CLAMD=none goes on without`);
  }
  return warn("clamd", `${why}: engine P knows test files and your rules, not the world's malware`, fix);
}

const NO_SOCKET = "no clamd socket in any of the usual places";

function ageCheck(version: ClamdVersion, { signaturesMaxAge: days, signaturesOld }: Settings, now: number): Check {
  const words = signatureWords(version, now);
  const level = signaturesOld === "unready" ? fail : warn;
  if (!version.signatures) return level("signatures", words, "run freshclam to fetch ClamAV's official signatures");
  if (ageKind((now - version.signatures.builtAt) / 1000, days) === "young") return ok("signatures", words);
  return level("signatures", `${words}: older than ${days} days`, "run freshclam, and see that it runs by itself");
}

/** Does it find what it must, and what does it unpack by itself? */
async function canaryCheck(address: ClamdAddress): Promise<Check> {
  const engine = clamd({ address, concurrency: 1 });
  using limit = timeLimit(TIMEOUT_MS);
  try {
    // The verdict of any file waits for the canaries.
    await engine.scan(nothing(), limit.signal);
    const ways = [...engine.opens()];
    if (ways.length > 0) return ok("clamd opens", `${ways.join(", ")}; it finds its test files in these by itself`);
    const detail = "nothing that counts: it does not report its limits, so that every member is shown to it";
    return warn("clamd opens", detail, "set AlertExceedsMax yes in its configuration, and start clamd again");
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return fail("clamd opens", message, "without its test files found no file is called clean: do what is said here");
  } finally {
    await engine.close();
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Room in clamd's temporary folder, and what dead clamds left there. */
async function folderChecks(path: string): Promise<Check[]> {
  const name = "clamd folder";
  const free = freeIn(path);
  if (!free) {
    const detail = `cannot see its temporary folder ${path}: each OK of clamd waits for a test file after it`;
    return [
      warn(name, detail, "let this user see it, and clamd and Lazaret run where both have the same folder there"),
    ];
  }
  const inodes = Number.isFinite(free.inodes) ? ` and ${free.inodes} inodes` : "";
  const detail = `${inBytes(free.bytes)}${inodes} free in its temporary folder ${path}`;
  const fix = "give it a tmpfs of its own with a fixed size (see deploy/clamd.conf): when it is full, nothing is clean";
  const level = { enough: ok, short: warn, full: fail, unseen: warn }[roomOf(free)];
  const leftovers = await leftoversIn(path, OLD_LEFTOVER_MS);
  if (leftovers.length === 0) return [level(name, detail, fix)];
  const left = `${leftovers.length} files and folders in ${path} are left from clamds that were killed`;
  const sweep = `find ${path} -maxdepth 1 \\( -name 'clamav-*.tmp' -o -name '*-scantemp.*' \\) -mmin +60 -exec rm -r {} +`;
  return [level(name, detail, fix), warn(name, left, `${sweep}; and let clamd's unit do so at each start`)];
}

function addressChecks(address: ClamdAddress): Check[] {
  if (address.kind === "unix") return [];
  const detail = "it listens on TCP, where whoever can connect may scan any path or shut it down";
  return [warn("clamd", detail, "use a unix socket, or a network that only Lazaret is in")];
}

function unseen(where: string): Check {
  const detail = `cannot find the configuration of the clamd at ${where}`;
  return warn("clamd limits", detail, "name it with --clamd-conf, or compare it with deploy/clamd.conf");
}

/** Every difference that could make a file look cleaner than it is, or a scan fail. */
function limitChecks(conf: ClamdConf, settings: Settings): Check[] {
  const bytes = settings.jobMaxMib * MIB;
  const atOnce = settings.concurrency || concurrencyOf(settings.engine);
  const threads = atOnce + (settings.workers || atOnce);
  const checks: Check[] = [];
  const wrong = (level: typeof fail, detail: string, line: string): unknown =>
    checks.push(level("clamd limits", detail, `set ${line} in ${conf.path}, and start clamd again`));

  if (conf.number("StreamMaxLength") < bytes) {
    const limit = inBytes(conf.number("StreamMaxLength"));
    wrong(
      fail,
      `StreamMaxLength is ${limit}, our largest file ${inBytes(bytes)}: such scans fail`,
      "StreamMaxLength 2047M",
    );
  }
  for (const name of ["MaxFileSize", "MaxScanSize"] as const) {
    if (conf.number(name) < bytes) {
      const detail = `${name} is ${inBytes(conf.number(name))}, our largest file ${inBytes(bytes)}: the rest is not looked at`;
      wrong(fail, detail, `${name} 2000M`);
    }
  }
  if (!conf.says("AlertExceedsMax")) {
    wrong(fail, "AlertExceedsMax is no: what a limit kept it from looking at is called OK", "AlertExceedsMax yes");
  }
  if (!conf.says("AlertEncrypted")) {
    wrong(fail, "AlertEncrypted is no: archives that it cannot open are called OK", "AlertEncrypted yes");
  }
  const enough = Math.min(threads, Math.max(RECOMMENDED_THREADS, THREADS_PER_VCPU * availableParallelism()));
  if (conf.number("MaxThreads") < enough) {
    const detail = `MaxThreads is ${conf.number("MaxThreads")}, and up to ${threads} files are scanned at once: some wait twice`;
    wrong(warn, detail, `MaxThreads ${enough}`);
  }
  const connections = 2 * threads + FURTHER_CONNECTIONS;
  if (conf.number("MaxQueue") < connections) {
    const detail = `MaxQueue is ${conf.number("MaxQueue")}, and up to ${connections} connections are open: scans beyond it hang`;
    wrong(warn, detail, `MaxQueue ${connections}`);
  }
  if (conf.number("MaxScanTime") > 60_000) {
    wrong(warn, "MaxScanTime is longer than the 60 s of a synchronous request", "MaxScanTime 30000");
  }
  if (!conf.says("DisableCache")) {
    wrong(warn, "DisableCache is no: clean files are remembered by MD5, which can be forged", "DisableCache yes");
  }
  if (!conf.says("ConcurrentDatabaseReload")) {
    wrong(
      warn,
      "ConcurrentDatabaseReload is no: scans under way during a reload are never answered",
      "ConcurrentDatabaseReload yes",
    );
  }
  return checks.length > 0 ? checks : [ok("clamd limits", `those in ${conf.path} go with ours`)];
}
