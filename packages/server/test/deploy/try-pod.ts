// Runs the embedded pod's containers one after the other: each as its user, without capabilities, on a read-only root, with the volumes,
// settings, files and probes of the manifest. What it cannot have of a cluster: images (this machine stands in for them), the container that
// fetches signatures (ours are used), policies and limits.
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { eicar } from "../support/eicar.ts";
import { containersOf, everythingRendered, podsOf, projectPath } from "./rendered-objects.ts";

const { objects = [] } = everythingRendered().find(({ name }) => name === "embedded.yaml") ?? {};
const pod = podsOf(objects)[0] ?? assert.fail("the manifest has no pod");
const group: number = pod.spec.securityContext.fsGroup;
const base = mkdtempSync(join(tmpdir(), "lazaret-pod-"));
const URL = "http://127.0.0.1:8040";
const LAZARET = [process.execPath, projectPath("packages/server/bin/lazaret.mjs")];

interface Container {
  name: string;
  command?: string[];
  args?: string[];
  env?: { name: string; value: string }[];
  securityContext: { runAsUser?: number };
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
  [probe: string]: unknown;
}

function container(name: string): Container {
  return containersOf(pod).find((each) => each.name === name) ?? assert.fail(`no container ${name}`);
}

const volumePath = (name: string): string => join(base, "volumes", name);

/** As kubelet makes them: empty folders for the group, files of the ConfigMap, and files of the Secret behind links that can be exchanged at once. */
function makeVolumes(): void {
  const claims = pod.claims.map((name) => ({ name, emptyDir: {} }));
  for (const { name, emptyDir, configMap } of [...claims, ...pod.spec.volumes] as Record<string, never>[]) {
    const path = volumePath(String(name));
    mkdirSync(path, { recursive: true });
    if (emptyDir) {
      chownSync(path, 0, group);
      chmodSync(path, 0o2777);
    }
    const data = configMap && objects.find(({ kind }) => kind === "ConfigMap")?.data;
    for (const [file, text] of Object.entries(data ?? {})) writeFileSync(join(path, file), String(text));
  }
  symlinkSync("..data/api-keys", join(volumePath("secrets"), "api-keys"));
  for (const file of readdirSync(projectPath("packages/server/signatures")))
    copyFileSync(projectPath(`packages/server/signatures/${file}`), join(volumePath("signatures"), file));
}

/** Puts another key into the Secret, and answers with it. */
function newKey(): string {
  const key = randomBytes(24).toString("hex");
  const folder = mkdtempSync(join(volumePath("secrets"), "..version-"));
  writeFileSync(join(folder, "api-keys"), `${key}\n`, { mode: 0o440 });
  for (const path of [folder, join(folder, "api-keys")]) chownSync(path, 0, group);
  chmodSync(folder, 0o750);
  symlinkSync(folder.slice(volumePath("secrets").length + 1), join(volumePath("secrets"), "..new"));
  renameSync(join(volumePath("secrets"), "..new"), join(volumePath("secrets"), "..data"));
  return key;
}

let roots = 0;
/** The command line that runs a program in a container. */
function inContainer(
  { env = [], securityContext, volumeMounts }: Container,
  command: readonly string[],
): [string, string[]] {
  const root = join(base, `root-${roots++}`);
  const mounts = volumeMounts.map(({ name, mountPath, readOnly }) => {
    const target = `${root}${mountPath}`;
    return `mkdir -p ${target}; mount --bind ${volumePath(name)} ${target}; ${readOnly ? `mount -o remount,bind,ro ${target}` : ""}`;
  });
  const script = `set -e
    mkdir -p ${root} ${root}-above; mount -t tmpfs tmpfs ${root}-above; mkdir ${root}-above/upper ${root}-above/work
    mount -t overlay overlay -o lowerdir=/,upperdir=${root}-above/upper,workdir=${root}-above/work ${root}
    mount --rbind /proc ${root}/proc; mount --rbind /dev ${root}/dev
    ${mounts.join("\n")}
    mount -o remount,ro ${root}
    exec "$@"`;
  const { runAsUser, runAsGroup } = { ...pod.spec.securityContext, ...securityContext };
  const user = ["--reuid", runAsUser, "--regid", runAsGroup, "--groups", group].map(String);
  const rights = ["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"];
  const variables = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", ...env.map(({ name, value }) => `${name}=${value}`)];
  const inside = ["env", "-i", ...variables, "chroot", root, "setpriv", ...user, ...rights, ...command];
  return ["unshare", ["--mount", "sh", "-c", script, "sh", ...inside]];
}

function start(name: string): ChildProcess {
  const it = container(name);
  const command = [...(it.command ?? LAZARET), ...(it.args ?? [])];
  const [program, args] = inContainer(it, command);
  return spawn(program, args, { stdio: ["ignore", "ignore", "inherit"] });
}

async function until(what: string, seconds: number, holds: () => Promise<boolean> | boolean): Promise<void> {
  const end = Date.now() + seconds * 1000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${what}`);
    await delay(250);
  }
  say(what);
}

const say = (text: string): void => void process.stdout.write(`ok  ${text}\n`);
const status = (path: string, init?: RequestInit): Promise<number> =>
  fetch(`${URL}${path}`, init).then(
    (answer) => answer.status,
    () => 0,
  );
const withKey = (key: string): RequestInit => ({ headers: { authorization: `Bearer ${key}` } });

const running: ChildProcess[] = [];
try {
  execFileSync("ip", ["link", "set", "lo", "up"]);
  execFileSync("mount", ["--make-rprivate", "/"]);
  makeVolumes();
  const first = newKey();

  const clamd = start("clamd");
  running.push(clamd);
  const ping = (container("clamd").startupProbe as { exec: { command: string[] } }).exec.command;
  await until("clamd answers its probe", 120, () => {
    const [program, args] = inContainer(container("clamd"), ping);
    return spawnSync(program, args, { stdio: "ignore" }).status === 0;
  });

  const service = start("lazaret");
  running.push(service);
  for (const probe of ["startupProbe", "readinessProbe"]) {
    const { path } = (container("lazaret")[probe] as { httpGet: { path: string } }).httpGet;
    await until(`the service answers ${path}`, 120, async () => Math.floor((await status(path)) / 100) === 2);
  }

  const body = eicar();
  const answer = await fetch(`${URL}/api/v1/scan/sync/binary`, {
    method: "POST",
    headers: { ...withKey(first).headers, "content-type": "application/octet-stream" },
    body,
  });
  const verdict = (await answer.json()) as { status: string; finding: string };
  assert.equal(verdict.status, "infected");
  say(`the test file is infected: ${verdict.finding}`);

  const [program, args] = inContainer(container("lazaret"), [...LAZARET, "doctor"]);
  const doctor = spawnSync(program, args, { encoding: "utf8" });
  assert.equal(doctor.status, 0, doctor.stdout + doctor.stderr);
  for (const line of ["clamd limits", "clamd folder", "permissions"])
    assert.match(doctor.stdout, new RegExp(`^ok +${line}`, "m"));
  say("lazaret doctor has no complaint");

  const second = newKey();
  await until(
    "a key that was put into the Secret holds",
    30,
    async () => (await status("/api/v1/test", withKey(second))) === 204,
  );
  assert.equal(await status("/api/v1/test", withKey(first)), 401);
  assert.equal(await status("/metrics"), 404);
  say("the key before it holds no more, and metrics are not on the API's port");

  const asked = Date.now();
  service.kill("SIGTERM");
  await until("on SIGTERM it is not ready", 5, async () => (await status("/readyz")) === 503);
  const [code] = await once(service, "exit");
  const seconds = Math.round((Date.now() - asked) / 1000);
  assert.equal(code, 0);
  assert.ok(seconds < pod.spec.terminationGracePeriodSeconds && clamd.exitCode === null);
  say(`it ended after ${seconds} s, before clamd`);
  clamd.kill("SIGTERM");
  assert.equal((await once(clamd, "exit"))[0], 0);
  say("clamd ended");
} finally {
  for (const child of running) if (child.exitCode === null) child.kill("SIGKILL");
  rmSync(base, { recursive: true, force: true });
}
