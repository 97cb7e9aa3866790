import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryFolder } from "../support/leftovers.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const lazaret = fileURLToPath(new URL("../../bin/lazaret.mjs", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** The values of a line in a unit, such as ExecStartPre. */
const unitLines = (path: string, name: string): string[] =>
  [...read(`deploy/debian/${path}`).matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);

/** What the mount and the drop-ins tell systemd to do, then clamd as Debian's unit starts it, with a socket that is handed to it. */
function asSystemdDoes(folder: string): string {
  const [mode = ""] = unitLines("clamav-daemon.socket.d/lazaret.conf", "SocketMode");
  const [options = ""] = unitLines("var-lib-clamav-tmp.mount", "Options");
  const [where = ""] = unitLines("var-lib-clamav-tmp.mount", "Where");
  const before = unitLines("clamav-daemon.service.d/lazaret.conf", "ExecStartPre");
  return `
set -e
mount -t tmpfs none /run && mkdir /run/clamav && chown clamav:clamav /run/clamav
mount --bind '${root}/deploy/clamd.conf' /etc/clamav/clamd.conf
mount -t tmpfs -o mode=0755 none /var/lib/clamav
cp '${root}'/packages/server/signatures/* /var/lib/clamav && chown -R clamav:clamav /var/lib/clamav
mkdir -p '${where}' && mount -t tmpfs -o '${options}' none '${where}'
touch '${where}/left-behind'
${before.map((command) => command.replace(/^\+/, "")).join("\n")}
ls -A '${where}' > '${folder}/leftovers'
cat > '${folder}/activate.pl' <<'END'
use IO::Socket::UNIX; use POSIX;
BEGIN { $^F = 10 }
my $socket = IO::Socket::UNIX->new(Local => "/run/clamav/clamd.ctl", Listen => 128) or die;
chmod oct("${mode}"), "/run/clamav/clamd.ctl";
POSIX::dup2(fileno($socket), 3);
@ENV{"LISTEN_FDS", "LISTEN_PID"} = (1, $$);
exec "/usr/sbin/clamd", "--foreground=true";
END
perl '${folder}/activate.pl' > '${folder}/clamd.log' 2>&1 &
clamd=$!
trap 'kill $clamd; wait $clamd || true' EXIT
for _ in $(seq 600); do [ -S /run/clamav/clamd.ctl ] && break; sleep 0.05; done
cd '${folder}'
env LAZARET_API_KEYS=a-good-long-secret-of-the-test LAZARET_SIGN_CALLBACK_INVOCATIONS=true \\
  '${process.execPath}' '${lazaret}' doctor --json --concurrency 16 --workers 16 --port 1 || true
`;
}

test("Debian's clamd starts with deploy/clamd.conf and the units in deploy/debian, and doctor has nothing to say against it", async () => {
  using folder = temporaryFolder();
  const [program = "", ...args] = [...(process.getuid?.() === 0 ? [] : ["sudo", "-n"]), "unshare", "-m"];
  const script = ["--propagation", "private", "sh", "-c", asSystemdDoes(folder.path)];
  const { stdout } = await promisify(execFile)(program, [...args, ...script]);
  const checks = JSON.parse(stdout) as { level: string; name: string; detail: string }[];
  const about = checks.filter(({ name }) => name.startsWith("clamd")).map(({ level, name }) => `${level} ${name}`);
  assert.deepEqual(about, ["ok clamd", "ok clamd opens", "ok clamd folder", "ok clamd limits"], stdout);
  assert.match(stdout, /"ClamAV .* at unix:\/run\/clamav\/clamd\.ctl"/);
  assert.match(stdout, /those in \/etc\/clamav\/clamd\.conf go with ours/);
  assert.equal(readFileSync(join(folder.path, "leftovers"), "utf8"), "", "what a killed clamd left is swept");
  assert.doesNotMatch(readFileSync(join(folder.path, "clamd.log"), "utf8"), /WARNING|ERROR/);
});

test("the socket that systemd opens is closed to other users", () => {
  assert.deepEqual(unitLines("clamav-daemon.socket.d/lazaret.conf", "SocketMode"), ["0660"]);
  assert.match(read("deploy/clamd.conf"), /^LocalSocketMode 660$/m);
});

test("Debian's AppArmor profile lets clamd have every path in deploy/clamd.conf", () => {
  const profile = readFileSync("/etc/apparmor.d/usr.sbin.clamd", "utf8");
  const rules = [...profile.matchAll(/^\s+(\/\S+)\s+([a-z]+),$/gm)].flatMap(([, glob = "", rights = ""]) =>
    rights.includes("w") ? [asPattern(glob)] : [],
  );
  const allowed = (path: string): boolean => rules.some((rule) => rule.test(path));
  const setting = (name: string): string =>
    new RegExp(`^${name} (.*)$`, "m").exec(read("deploy/clamd.conf"))?.[1] ?? "";
  assert.equal(allowed("/var/lib/elsewhere/file"), false);
  assert.ok(allowed(setting("LocalSocket")));
  assert.ok(allowed(join(setting("DatabaseDirectory"), "daily.cld")));
  assert.ok(allowed(join(setting("TemporaryDirectory"), "clamav-0123.tmp")));
});

/** AppArmor's globs: `**` any path, `*` a name, `{a,b}` one of them. */
function asPattern(glob: string): RegExp {
  const parts = glob.replaceAll(/[.+^$()|[\]\\]/g, "\\$&").replaceAll(/\{([^}]*)\}/g, (_, choices: string) => {
    return `(?:${choices.replaceAll(",", "|")})`;
  });
  return new RegExp(`^${parts.replaceAll("**", "\0").replaceAll("*", "[^/]*").replaceAll("\0", ".*")}$`);
}
