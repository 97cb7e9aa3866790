// Brings a clone to where it can run. Plain JavaScript for Node 20: this is what runs before our own Node is there.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { freemem } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "node_modules");
const stampPath = join(modules, ".lazaret-setup.json");

/** The Node that comes with the project, whatever the machine has. */
export const ownNode = join(modules, "node", "bin", process.platform === "win32" ? "node.exe" : "node");
/** What tests need besides npm packages. */
export const testPrograms = {
  "clamav-daemon": ["clamd"],
  "clamav-freshclam": ["freshclam"],
  "clamav-testfiles": ["/usr/share/clamav-testfiles/clam.exe"],
  chromium: ["chromium"],
  curl: ["curl"],
  // For docs/run-on-one-machine.md, which is followed under a systemd of its own.
  dbus: ["dbus-daemon"],
  iproute2: ["ip"],
  "nginx-light": ["nginx"],
  logrotate: ["logrotate"],
  openssl: ["openssl"],
  "p7zip-full": ["7z"],
  prometheus: ["promtool"],
  // Its programs are on nobody's path.
  pgbouncer: ["/usr/sbin/pgbouncer"],
  postgresql: [13, 14, 15, 16, 17, 18].map((version) => `/usr/lib/postgresql/${version}/bin/postgres`),
  systemd: ["/lib/systemd/systemd"],
};

/**
 * Installs npm packages unless they are there already: `run` what the server needs, `all` also what tests need.
 * Development packages that are there stay: `npm ci --omit=dev` would remove them.
 * @param {"run" | "all"} asked
 */
export function installPackages(asked) {
  const scope = asked === "run" && hasDevelopmentPackages() ? "all" : asked;
  const lock = lockOf(root);
  const stamp = existsSync(stampPath) ? JSON.parse(readFileSync(stampPath, "utf8")) : {};
  if (stamp.lock === lock && (stamp.scope === "all" || stamp.scope === scope) && existsSync(ownNode)) return;

  refuseUnderOthers();
  say(`installing npm packages (${scope === "all" ? "everything" : "what the server needs"})…`);
  if (!npmCi(root, scope === "run" ? ["--omit=dev"] : []))
    fail("npm ci failed", "check that this machine reaches the npm registry, then run the command again");
  if (!existsSync(ownNode))
    fail("npm installed no Node of our own", "allow install scripts: npm config set ignore-scripts false");
  writeFileSync(stampPath, JSON.stringify({ lock, scope }));
}

/** Ends where something else runs from this clone: `npm ci` begins by removing what it would load next. Known on Linux only. */
function refuseUnderOthers() {
  const running = runningPrograms().filter(({ program }) => program === ownNode);
  const own = ancestors();
  const other = running.find(({ pid }) => !own.includes(pid));
  if (!other) return;
  fail(
    `npm packages have to be installed, and process ${other.pid} runs from this clone: ${other.command}`,
    `stop it (kill ${other.pid}), then run this again: npm would remove its packages while it runs`,
  );
}

/** Processes of this user; as root, of all. */
function runningPrograms() {
  const pids = existsSync("/proc/self/exe") ? readdirSync("/proc").filter((name) => /^\d+$/.test(name)) : [];
  return pids.flatMap((pid) => {
    try {
      const program = readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, "");
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      return [{ pid: Number(pid), program, command }];
    } catch {
      // Another user's, or it has just ended.
      return [];
    }
  });
}

/** This process and those above it. npm may run by our own Node. */
function ancestors(pid = process.pid) {
  const status = `/proc/${pid}/status`;
  const [, above = "0"] = (existsSync(status) && /^PPid:\s*(\d+)$/m.exec(readFileSync(status, "utf8"))) || [];
  return [pid, ...(above === "0" ? [] : ancestors(Number(above)))];
}

/** Installs the packages of a folder that is no workspace, unless they are there already. */
export function installPackagesOf(folder) {
  const path = join(root, folder);
  const stamp = join(path, "node_modules", ".lazaret-setup");
  const lock = lockOf(path);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  say(`installing npm packages of ${folder}…`);
  if (!npmCi(path, []))
    fail(`could not install the packages of ${folder}`, "check that this machine reaches the npm registry");
  writeFileSync(stamp, lock);
}

/** Builds the pages of the console, which takes about a second, unless what is built is newer than its sources. */
export function buildConsole() {
  const folder = join(root, "packages/console");
  const built = join(folder, "dist", "index.html");
  const sources = [join(root, "package-lock.json"), ...filesOf(folder, ["dist", "node_modules", "test"])];
  const changed = Math.max(...sources.map((path) => statSync(path).mtimeMs));
  if (existsSync(built) && statSync(built).mtimeMs > changed) return;
  say("building the console…");
  const vite = join(modules, "vite", "bin", "vite.js");
  const { status, stdout, stderr } = spawnSync(ownNode, [vite, "build"], { cwd: folder, encoding: "utf8" });
  if (status !== 0) {
    fail(
      "could not build the console",
      `remove node_modules and try again; the build said:\n${stdout}${stderr}`.trim(),
    );
  }
}

function filesOf(folder, without) {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !without.includes(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesOf(path, []) : [path];
    });
}

/** Runs a file of ours with our Node, and ends with its exit code. */
export function runOwnNode(args, env = process.env) {
  process.exit(spawnSync(ownNode, args, { cwd: root, stdio: "inherit", env }).status ?? 1);
}

function lockOf(path) {
  return createHash("sha256")
    .update(readFileSync(join(path, "package-lock.json")))
    .digest("hex");
}

/** Whether any package is there that only development needs. */
function hasDevelopmentPackages() {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const { devDependencies = {} } = packages[""];
  return Object.keys(devDependencies).some(
    (name) => packages[`node_modules/${name}`]?.dev === true && existsSync(join(modules, name)),
  );
}

function npmCi(path, more) {
  const npm = process.env.npm_execpath;
  const [command, first] = npm ? [process.execPath, [npm]] : ["npm", []];
  const args = [...first, "ci", "--no-fund", "--no-audit", "--loglevel=error", ...more];
  return spawnSync(command, args, { cwd: path, stdio: ["ignore", "ignore", "inherit"] }).status === 0;
}

/**
 * Installs Debian packages whose programs or files are missing, when we may; otherwise says how to get them.
 * @param {Record<string, string[]>} wanted package → programs or absolute paths, one of which shows that it is there
 * @param {{ optional?: boolean }} [options] optional: those that cannot be installed are named and left out
 */
export function installDebianPackages(wanted, { optional = false } = {}) {
  const missing = Object.keys(wanted).filter((name) => !wanted[name]?.some(isThere));
  if (missing.length === 0) return;
  const install = `apt-get install -y --no-install-recommends ${missing.join(" ")}`;
  const prefix = process.getuid?.() === 0 ? [] : ["sudo", "-n"];
  const may = isThere("apt-get") && (prefix.length === 0 || spawnSync("sudo", ["-n", "true"]).status === 0);
  if (!may && optional) return say(`left out, as they are not installed: ${missing.join(", ")}`);
  if (!may) fail(`missing on this machine: ${missing.join(", ")}`, `install them: sudo ${install}`);

  say(`installing Debian packages: ${missing.join(", ")}…`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const command of ["apt-get update", `${NOT_STARTED}\n${install}`]) {
    const [program = "", ...args] = [...prefix, "sh", "-c", command];
    const { status, stdout, stderr } = spawnSync(program, args, { env, encoding: "utf8", maxBuffer: 2 ** 26 });
    if (status === 0 || !command.endsWith(install)) continue;
    if (!optional)
      fail(`could not install ${missing.join(", ")}`, `run it yourself: sudo ${install}\n${stdout}${stderr}`.trim());
    if (missing.length === 1) return say(`left out, as it cannot be installed: ${missing[0]}`);
    // One that this Debian does not have must not keep the others away.
    for (const name of missing) installDebianPackages({ [name]: wanted[name] ?? [] }, { optional });
  }
}

/** Debian starts what it installs, on ports of its own. Tests start what they need themselves. */
const NOT_STARTED = `policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\\nexit 101\\n' > $policy && chmod 755 $policy
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
fi`;

const TMPFS = 0x01021994;
const ROOM_BYTES = 4 * 1024 ** 3;

/** A folder in memory that everybody may write to, as /tmp; undefined where there is no room for it, or programs in it do not run. */
export function folderInMemory(place = "/dev/shm") {
  let path;
  try {
    const { type, bavail, bsize } = statfsSync(place);
    const available = process.availableMemory?.() ?? freemem();
    if (type !== TMPFS || bavail * bsize < ROOM_BYTES || available < ROOM_BYTES) return undefined;
    removeLeft(place);
    path = mkdtempSync(join(place, `lazaret-${process.pid}-`));
    chmodSync(path, 0o1777);
    const program = join(path, "program");
    writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
    if (spawnSync(program).status === 0) return path;
  } catch {
    // Where tests write to a disk they take longer.
  }
  if (path) rmSync(path, { recursive: true, force: true });
  return undefined;
}

/** Folders of runs that were ended before they could remove them. */
function removeLeft(place) {
  for (const name of readdirSync(place)) {
    const [, pid] = /^lazaret-(\d+)-/.exec(name) ?? [];
    if (pid && !existsSync(join("/proc", pid))) rmSync(join(place, name), { recursive: true, force: true });
  }
}

function isThere(program) {
  const paths = program.startsWith("/")
    ? [program]
    : [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"].map((folder) =>
        join(folder, program),
      );
  return paths.some((path) => {
    try {
      accessSync(path, program.startsWith("/") ? constants.R_OK : constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export function say(text) {
  process.stderr.write(`lazaret: ${text}\n`);
}

/** @returns {never} */
export function fail(what, hint) {
  process.stderr.write(`lazaret: ${what}\nhint: ${hint}\n`);
  process.exit(1);
}
