import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { atTheEnd } from "../support/leftovers.ts";
import { type Machine, machine } from "../support/machine.ts";
import { root } from "./place.ts";

const page = readFileSync(join(root, "docs/run-on-one-machine.md"), "utf8");
const blocks = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, kind = "", text = ""]) => ({ kind, text }));
const deploy = join(root, "deploy");

/** What npm test has compiled already. */
const cache = process.env.NODE_COMPILE_CACHE;

/**
 * What the page does by the internet, and the rest as it is. Packages are this machine's; Lazaret is run from its sources, where npm would
 * have put it; test signatures stand in for those that freshclam fetches, and Debian's clamd is told not to ask for the others.
 */
const standIns = ({ clone }: Machine): string => String.raw`
sudo() { if [ "$1" = -u ]; then user=$2; shift 2; runuser -u "$user" -- "$@"; else "$@"; fi; }
apt-get() { :; }
tar() { install -m 0755 '${clone}/node_modules/node/bin/node' /usr/local/bin/node; }
npm() {
  mkdir -p /usr/local/lib/node_modules/lazaret && ln -sfn '${clone}/deploy' /usr/local/lib/node_modules/lazaret/deploy
  printf '#!/bin/sh\n%sexec /usr/local/bin/node %s "$@"\n' '${cache ? `export NODE_COMPILE_CACHE_PORTABLE=1 NODE_COMPILE_CACHE=${join(clone, relative(root, cache))}; ` : ""}' '${clone}/packages/server/bin/lazaret.mjs' > /usr/local/bin/lazaret
  chmod 0755 /usr/local/bin/lazaret
}
signatures_arrive() {
  cp '${clone}'/packages/server/signatures/* /var/lib/clamav/
  for unit in service socket; do
    printf '[Unit]\nConditionPathExistsGlob=\n' > /etc/systemd/system/clamav-daemon.$unit.d/zz-test.conf
  done
  systemctl daemon-reload
}
curl() { case "$*" in *nodejs.org*) return 0 ;; *) command curl --silent --show-error "$@" ;; esac; }
`;

function asRun(text: string): string {
  return text
    .replace(/^until ls \/var\/lib\/clamav\/.*$/m, "signatures_arrive")
    .replace(/^curl .*SHASUMS256.*$/m, ":")
    .replace(/^sudo systemctl restart clamav-freshclam$/m, "systemctl start --no-block clamav-freshclam");
}

let here: Machine;
const exported: string[] = [];
/** In the folder and with the variables that the page has come to. */
const run = (text: string): Promise<string> => here.run([standIns(here), ...exported, text].join("\n"));

before(async () => {
  here = await machine();
  await here.run("echo 127.0.0.1 scan.example.com >> /etc/hosts; mkdir -p /etc/nginx/sites-enabled");
});
atTheEnd(() => here?.[Symbol.asyncDispose]());

test("what docs/run-on-one-machine.md says to do makes a service behind nginx with TLS, under a real systemd", async () => {
  let commands = 0;
  for (const [index, { kind, text }] of blocks.entries()) {
    if (kind !== "sh") continue;
    commands += 1;
    // What a variable was set to, not how: each key is made once.
    const names = [...text.matchAll(/^export (\w+)=/gm)].map(([, name = ""]) => name);
    const output = await run(
      `${asRun(text)}\n${names.map((name) => `printf '%s' "$${name}" > /run/${name}`).join("\n")}`,
    );
    exported.push(...names.map((name) => `export ${name}="$(cat /run/${name})"`), ...(text.match(/^cd .*$/gm) ?? []));
    const shown = blocks[index + 1];
    if (shown?.kind === "json") assert.deepEqual(known(output, shown.text), JSON.parse(shown.text), output);
  }
  assert.ok(commands >= 12, `only ${commands} commands were found`);
  assert.match(
    await run("systemctl show lazaret -p ActiveState -p StatusText"),
    /StatusText=listening on 127\.0\.0\.1:8040/,
  );
});

/** The answer, with "…" where the page says that it may be anything. */
function known(output: string, shown: string): Record<string, unknown> {
  const answer = JSON.parse(output) as Record<string, unknown>;
  const anything = Object.entries(JSON.parse(shown)).filter(([name, value]) => value === "…" && name in answer);
  return { ...answer, ...Object.fromEntries(anything) };
}

const asClient = 'curl --cacert /etc/lazaret/tls/fullchain.pem -H "Authorization: Bearer $LAZARET_API_KEY"';

test("clamd, freshclam and Lazaret run as their own users, with no capabilities", async () => {
  const status = await run(`
for unit in lazaret clamav-daemon clamav-freshclam; do
  pid=$(systemctl show -P MainPID $unit)
  echo "$unit $(ps -o user= -p $pid) $(grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/$pid/status | tr -d '\\n\\t')"
done`);
  const confined = "CapEff:0000000000000000NoNewPrivs:1Seccomp:2";
  assert.deepEqual(status.trim().split("\n"), [
    `lazaret lazaret ${confined}`,
    `clamav-daemon clamav ${confined}`,
    `clamav-freshclam clamav ${confined}`,
  ]);
});

test("through nginx an upload is refused before it is read, in Lazaret's words, and bodies in chunks are scanned", async () => {
  await run("head -c 30000000 /dev/zero > /tmp/large");
  const upload = `-o /dev/null -w '%{http_code} ' -H "Expect:" -H "Content-Type: application/octet-stream" --data-binary @/tmp/large --max-time 30 https://$NAME/api/v1/scan/sync/binary`;
  // Many times, as it is a race: the answer must be read before the connection is cut, and nobody may be taken for broken over it.
  const codes = await run(`
for number in $(seq 15); do
  curl --cacert /etc/lazaret/tls/fullchain.pem -H "Authorization: Bearer wrong" ${upload}
  ${asClient} -H "Content-Length: 300000000" ${upload}
done`);
  assert.equal(codes, "401 413 ".repeat(15));
  const scanned = await run(
    `head -c 3000000 /tmp/large | ${asClient} -H "Transfer-Encoding: chunked" -H "Content-Type: application/octet-stream" --data-binary @- https://$NAME/api/v1/scan/sync/binary`,
  );
  assert.deepEqual(JSON.parse(scanned), { status: "clean", size: 3_000_000, realfiletype: "data" });
});

test("Lazaret's log has the address of the client, whatever the client says it is", async () => {
  await run("ip address add 192.0.2.7/32 dev lo");
  await run(
    `${asClient} --interface 192.0.2.7 -H "X-Forwarded-For: 203.0.113.1" -H "X-Request-Id: whose-address" https://$NAME/v1/whoami`,
  );
  const line = await run(
    `for _ in $(seq 100); do journalctl -u lazaret -o cat | grep whose-address && break; sleep 0.5; done`,
  );
  assert.equal(JSON.parse(line).remote, "192.0.2.7");
});

test("live events come through nginx as they happen, and metrics are for this machine only", async () => {
  const events = await run(
    `curl --no-buffer --cacert /etc/lazaret/tls/fullchain.pem -H "Authorization: Bearer $ADMIN_KEY" https://$NAME/admin/v1/events 2> /dev/null | head -n 1`,
  );
  assert.equal(events.trim(), "retry: 2000");
  const code = `-o /dev/null -w '%{http_code}' --cacert /etc/lazaret/tls/fullchain.pem https://$NAME/metrics`;
  assert.equal(await run(`curl ${code}; curl --interface 192.0.2.7 ${code}`), "200403");
});

test("a key that comes by plain HTTP is refused, and people are led to HTTPS", async () => {
  const code = "-o /dev/null -w '%{http_code} %{redirect_url} '";
  const answers = await run(`curl ${code} http://$NAME/api/v1/test; curl ${code} http://$NAME/console/`);
  assert.equal(answers.trim(), "403  301 https://scan.example.com/console/");
});

test("systemctl reload comes back when the keys were read again", async () => {
  await run("systemctl reload lazaret");
  assert.match(await run("journalctl -u lazaret -o cat"), /"event":"reloaded"/);
});

test("a service that is stuck is restarted", async () => {
  await run(`
mkdir -p /run/systemd/system/lazaret.service.d
printf '[Service]\\nWatchdogSec=6\\nEnvironment=LAZARET_ENGINE=Q LAZARET_DRAIN_SECONDS=0\\n' > /run/systemd/system/lazaret.service.d/test.conf
systemctl daemon-reload
systemctl restart lazaret`);
  await run(`
first=$(systemctl show -P MainPID lazaret)
kill -STOP $first
until now=$(systemctl show -P MainPID lazaret) && [ $now != 0 ] && [ $now != $first ]; do sleep 0.5; done`);
  assert.match(await run("journalctl -u lazaret -o cat"), /Watchdog timeout/);
});

test("a service whose disk is full at its start is started again until it stays, and one with wrong settings is not", async () => {
  const override = (lines: string): string =>
    `printf '[Service]\\n${lines}\\n' > /run/systemd/system/lazaret.service.d/test.conf; systemctl daemon-reload`;
  await run(`
mkdir /run/full && mount -t tmpfs -o size=64k,uid=lazaret,gid=lazaret none /run/full
head -c 60k /dev/zero > /run/full/filler
${override("RestartSec=10ms\\nTimeoutStartSec=60\\nEnvironment=LAZARET_DATA_DIR=/run/full/data LAZARET_API_KEYS=a-key-of-this-test LAZARET_ENGINE=Q\\nReadWritePaths=/run/full")}
systemctl restart --no-block lazaret
until [ "$(systemctl show -P NRestarts lazaret)" -ge 2 ]; do sleep 0.5; done`);
  await run(`
mount -o remount,size=64m /run/full
until [ "$(systemctl show -P ActiveState lazaret)" = active ]; do sleep 0.5; done`);
  assert.match(await run("journalctl -u lazaret -o cat"), /the disk is full\nhint: free some space/);
  // However often: a database may be away for hours.
  assert.equal((await run("systemctl show -P StartLimitIntervalUSec lazaret")).trim(), "0");

  await run(`
${override("Environment=LAZARET_PORT=none")}
systemctl restart --no-block lazaret
until [ "$(systemctl show -P ActiveState lazaret)" = failed ]; do sleep 0.5; done
test "$(systemctl show -P NRestarts lazaret)" = 0
rm /run/systemd/system/lazaret.service.d/test.conf
systemctl daemon-reload && systemctl restart lazaret`);
});

test("while the service is away nginx answers in the form of Lazaret's errors, and clients try again", async () => {
  await run("systemctl stop lazaret");
  assert.equal((await run("systemctl show lazaret -P Result")).trim(), "success");
  const away = await run(`${asClient} --include https://$NAME/api/v1/test`);
  assert.match(away, /^HTTP\/1\.1 503 [\s\S]*^Retry-After: 5\r$/m);
  const { statusCode, code } = JSON.parse(away.slice(away.indexOf("{")));
  assert.deepEqual({ statusCode, code }, { statusCode: 503, code: "not_ready" });
  assert.match(
    await run("lazaret health || echo code $?"),
    /no answer from http:\/\/127\.0\.0\.1:8040: ECONNREFUSED[\s\S]*code 1/,
  );
});

test("the units are as confined as the page says", async () => {
  const exposure = async (unit: string): Promise<string> => {
    const { stdout } = await promisify(execFile)("systemd-analyze", ["security", "--offline=true", "--no-pager", unit]);
    return /exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1] ?? stdout;
  };
  const [own, clamd, freshclam] = ["lazaret", "clamav-daemon", "clamav-freshclam"].map(
    (unit) => new RegExp(`^\\| \`${unit}\\.service\`.*?\\| ([\\d.]+)`, "m").exec(page)?.[1],
  );
  for (const unit of ["lazaret", "lazaret@", "lazaret-worker"])
    assert.equal(await exposure(join(deploy, `systemd/${unit}.service`)), own, unit);
  const inForce = await here.run(
    "for unit in clamav-daemon clamav-freshclam; do systemd-analyze security --no-pager $unit.service | tail -n 1; done",
  );
  assert.deepEqual(
    [...inForce.matchAll(/: ([\d.]+) /g)].map(([, level]) => level),
    [clamd, freshclam],
  );
});
