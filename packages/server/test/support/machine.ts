import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryFolder, watchChild } from "./leftovers.ts";
import { until } from "./until.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));

export interface Machine extends AsyncDisposable {
  /** A folder that is the same inside and outside. */
  folder: string;
  /** The clone as the machine has it: every user can read it there. */
  clone: string;
  /** Runs a shell script as root and answers what it printed, stderr too. Throws when it fails. */
  run(script: string): Promise<string>;
}

/**
 * A machine of its own: this one's files, on which nothing that is done lasts, with a network that nobody else sees and a systemd that
 * really is PID 1. It takes namespaces and root, or sudo without a password.
 */
export async function machine(): Promise<Machine> {
  const folder = temporaryFolder();
  const shared = join(folder.path, "shared");
  mkdirSync(shared, { mode: 0o755 });
  const boot = join(folder.path, "boot.sh");
  writeFileSync(boot, bootScript(folder.path, shared));
  const asRoot = process.getuid?.() === 0 ? [] : ["sudo", "-n"];
  const spaces = ["-m", "-p", "-n", "-u", "-i", "-C", "--propagation", "private", "--fork", "--kill-child"];
  const [program = "", ...args] = [...asRoot, "unshare", ...spaces, "sh", boot];
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  if (child.pid) watchChild(child.pid);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (part) => (said += part));
  const ended = once(child, "exit");
  const first = await firstProcess(child, () => said);
  const enter = [...asRoot, "nsenter", "-t", String(first), "-m", "-p", "-n", "-u", "-i", "-C", "-r"];

  async function run(script: string): Promise<string> {
    const [command = "", ...words] = [...enter, "env", "-i", `PATH=${PATH}`, "HOME=/root", "bash", "-ec"];
    const options = { maxBuffer: 2 ** 24, timeout: 170_000 };
    try {
      return (await promisify(execFile)(command, [...words, `cd /\nexec 2>&1\n${script}`], options)).stdout;
    } catch (error) {
      throw new Error(`${script}\n${(error as { stdout?: string }).stdout}`, { cause: error });
    }
  }

  async function stop(): Promise<void> {
    // PID 1 takes everything in its namespace with it.
    await promisify(execFile)(asRoot[0] ?? "kill", [
      ...asRoot.slice(1),
      ...(asRoot[0] ? ["kill"] : []),
      "-9",
      String(first),
    ]);
    await ended;
    folder[Symbol.dispose]();
  }

  try {
    const isUp = async (): Promise<boolean> =>
      /running|degraded/.test(await run("systemctl is-system-running || true"));
    await until("systemd is up", isUp, { limitMs: 60_000 });
  } catch (error) {
    await stop();
    throw new Error(`no systemd: ${said}`, { cause: error });
  }
  return { folder: shared, clone: CLONE, run, [Symbol.asyncDispose]: stop };
}

/** Units see no homes, and have a /tmp of their own. */
const CLONE = "/opt/lazaret-clone";
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The one that systemd will be, as this machine counts. */
async function firstProcess({ pid, exitCode }: ChildProcess, said: () => string): Promise<number> {
  const oldest = (parent: number): number => {
    const [own] = readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8").trim().split(" ").map(Number);
    if (!own) return 0;
    const name = readFileSync(`/proc/${own}/comm`, "utf8").trim();
    return name === "systemd" ? own : oldest(own);
  };
  let found = 0;
  const isThere = (): boolean => {
    if (exitCode !== null) throw new Error(`it did not start: ${said()}`);
    try {
      found = oldest(pid ?? 0);
    } catch {
      found = 0;
    }
    return found > 0;
  };
  await until("systemd is started", isThere).catch((cause: Error) => {
    throw new Error(`${cause.message}; it said ${said()}`);
  });
  return found;
}

/**
 * Starts nothing of the services that this machine may have enabled. The clone may be where only its owner may enter, or its owner's umask
 * may keep others from reading it: so it gets a place of its own, and rights there. `metacopy` changes rights without copying content.
 */
function bootScript(folder: string, shared: string): string {
  return `
set -e
cd '${folder}'
mkdir disk && mount -t tmpfs none disk && mkdir disk/upper disk/work disk/root disk/clone-upper disk/clone-work
new=${folder}/disk/root
mount -t overlay overlay -o lowerdir=/,upperdir=disk/upper,workdir=disk/work $new
mkdir -m 755 $new${CLONE}
mount -t overlay overlay -o 'metacopy=on,lowerdir=${root},upperdir=disk/clone-upper,workdir=disk/clone-work' $new${CLONE}
find $new${CLONE} ! -type l '(' ! -perm -004 -o -type d ! -perm -005 ')' -exec chmod a+rX '{}' +
mount -t proc proc $new/proc
mount -t sysfs -o ro sysfs $new/sys
mount -t cgroup2 cgroup2 $new/sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs $new/run
mount -t tmpfs -o mode=1777 tmpfs $new/tmp
mount -t tmpfs -o mode=755 tmpfs $new/dev
for name in null zero full random urandom tty; do touch $new/dev/$name; mount --bind /dev/$name $new/dev/$name; done
mkdir $new/dev/pts $new/dev/shm && mount -t tmpfs -o mode=1777 tmpfs $new/dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts $new/dev/pts && ln -s pts/ptmx $new/dev/ptmx && ln -s /proc/self/fd $new/dev/fd
mkdir -p $new'${shared}' && mount --bind '${shared}' $new'${shared}'
rm -rf $new/etc/systemd/system/*.wants $new/etc/systemd/system/*.requires
ip link set lo up
cd $new && mkdir -p .before && pivot_root . .before && umount -l /.before
container=namespace exec chroot . /lib/systemd/systemd --system --unit=basic.target --log-target=journal --show-status=no
`;
}
