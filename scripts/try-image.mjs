// npm run try-image: builds the image of deploy/docker by its Dockerfile and runs it as compose.yaml does, on a machine that can pull no
// image: the two that it begins with are made here, under their names, of this machine's Debian packages and our own Node. The build is
// buildah's, the container podman's. Takes root, Linux with cgroups 2, the npm registry and some minutes.
import { strict as assert } from "node:assert";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fail, installDebianPackages, installPackages, ownNode, root, say } from "./setup.mjs";

const NODE_IMAGE = "docker.io/library/node:24.21.0-bookworm-slim";
const BASE_IMAGE = "gcr.io/distroless/cc-debian12:nonroot";
const IMAGE = "localhost/lazaret:tried";
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
/** What runs in the image has the C library; what builds it has a shell and the few programs that RUN uses, too. */
const libraries = ["base-files", "libc6", "libgcc-s1", "libstdc++6"];
const tools =
  "bash coreutils dash gzip libacl1 libattr1 libc-bin libgmp10 libpcre2-8-0 libselinux1 libssl3 libtinfo6 tar".split(
    " ",
  );

if (process.getuid?.() !== 0) fail("building and running an image takes root here", "sudo npm run try-image");
// Once more in a mount namespace in which cgroups are of version 2 alone, which is what the runtime wants.
if (!process.env.LAZARET_TRY_IMAGE_INSIDE) {
  installPackages("all");
  installDebianPackages({ buildah: ["buildah"], crun: ["crun"], podman: ["podman"] });
  const inside = 'mount -t cgroup2 none /sys/fs/cgroup && exec "$0" "$@"';
  const args = ["-m", "-C", "--propagation", "private", "sh", "-c", inside, process.execPath, ...process.argv.slice(1)];
  const env = { ...process.env, LAZARET_TRY_IMAGE_INSIDE: "yes" };
  process.exit(spawnSync("unshare", args, { stdio: "inherit", env }).status ?? 1);
}

const folder = mkdtempSync(join(tmpdir(), "lazaret-image-"));
const storage = ["--root", join(folder, "store"), "--runroot", join(folder, "run"), "--storage-driver", "overlay"];

/** @type {(program: string, args: readonly string[], options?: { anyExit?: boolean }) => string} */
function run(program, args, { anyExit = false } = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", maxBuffer: 2 ** 28 });
  if (status !== 0 && !anyExit) throw new Error(`${program} ${args.join(" ")}\n${stdout}${stderr}`);
  return stdout;
}
/** @param {string[]} args */
const buildah = (...args) => run("buildah", [...storage, ...args]).trim();
const engine = [...storage, "--cgroup-manager", "cgroupfs", "--runtime", "crun"];
/** @param {string[]} args */
const podman = (...args) => run("podman", [...engine, ...args]).trim();

/** A tree with the files of these packages. @type {(name: string, packages: readonly string[]) => string} */
function treeOf(name, packages) {
  const tree = join(folder, name);
  for (const each of ["bin", "sbin", "lib"]) {
    mkdirSync(join(tree, "usr", each), { recursive: true });
    symlinkSync(`usr/${each}`, join(tree, each));
  }
  for (const each of ["etc/ssl/certs", "tmp", "proc", "sys", "dev"]) mkdirSync(join(tree, each), { recursive: true });
  const pack = "tar -C / -c --no-recursion --ignore-failed-read -T - 2> /dev/null";
  const files = `dpkg -L ${packages.join(" ")} | sort -u | grep -v -E '^/(\\.|usr/share/(doc|man|locale|info).*)$'`;
  run("sh", [
    "-c",
    `${files} | sed 's|^/||' | ${pack} | tar -x --keep-directory-symlink -C '${tree}' && chmod 1777 '${tree}/tmp'`,
  ]);
  if (existsSync(CERTIFICATES)) copyFileSync(CERTIFICATES, join(tree, CERTIFICATES));
  return tree;
}

/** @type {(name: string, tree: string, variables?: readonly string[]) => void} */
function makeImage(name, tree, variables = []) {
  const container = buildah("from", "scratch");
  buildah("copy", "--quiet", container, tree, "/");
  buildah("config", ...variables.flatMap((each) => ["--env", each]), container);
  buildah("commit", "--quiet", container, name);
  buildah("rm", container);
}

try {
  say("making the images that the Dockerfile begins with…");
  const nodeTree = treeOf("node", [...libraries, ...tools]);
  mkdirSync(join(nodeTree, "usr/local/bin"), { recursive: true });
  copyFileSync(ownNode, join(nodeTree, "usr/local/bin/node"));
  const npm = process.env.npm_execpath ?? realpathSync(run("sh", ["-c", "command -v npm"]).trim());
  cpSync(dirname(dirname(realpathSync(npm))), join(nodeTree, "usr/local/lib/node_modules/npm"), { recursive: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(nodeTree, "usr/local/bin/npm"));
  const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  makeImage(NODE_IMAGE, nodeTree, [path, `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`]);
  makeImage(BASE_IMAGE, treeOf("base", libraries), [path]);

  say("building…");
  const dockerfile = join(root, "deploy/docker/Dockerfile");
  const how = ["--pull-never", "--format", "docker", "--isolation", "chroot", "--network", "host"];
  buildah("bud", ...how, "--ignorefile", `${dockerfile}.dockerignore`, "--file", dockerfile, "--tag", IMAGE, root);
  const [{ Size: size, Config: config }] = JSON.parse(podman("inspect", "--type", "image", IMAGE));
  assert.equal(config.User, "65532:65532");
  assert.equal(config.Labels["org.opencontainers.image.licenses"], "Apache-2.0");

  say("running it, read-only and with no rights…");
  const key = "a-key-of-the-tried-image";
  writeFileSync(join(folder, "api-keys"), key, { mode: 0o444 });
  const limits = [
    "--ulimit",
    "nofile=1024:1024",
    "--ulimit",
    "nproc=2048:2048",
    "--cgroups=disabled",
    "--network",
    "none",
  ];
  const confined = [
    "--read-only",
    "--read-only-tmpfs=false",
    "--cap-drop",
    "ALL",
    "--security-opt",
    "no-new-privileges",
  ];
  const mounts = [
    "--tmpfs",
    "/tmp:size=512m,mode=1777",
    "--volume",
    `${join(folder, "api-keys")}:/run/secrets/api-keys:ro`,
  ];
  const settings = ["--env", "LAZARET_API_KEYS_FILE=/run/secrets/api-keys", "--env", "LAZARET_CLAMD=none"];
  podman(
    "run",
    "--detach",
    "--name",
    "tried",
    ...limits,
    ...confined,
    ...mounts,
    "--volume",
    "data:/var/lib/lazaret",
    ...settings,
    IMAGE,
  );
  const isHealthy = () => spawnSync("podman", [...engine, "healthcheck", "run", "tried"]).status === 0;
  const deadline = Date.now() + 120_000;
  while (!isHealthy()) {
    if (Date.now() > deadline) throw new Error(`not healthy: ${podman("logs", "tried")}`);
    spawnSync("sleep", ["1"]);
  }
  const seen = JSON.parse(
    podman("exec", "tried", "/usr/local/bin/node", "--eval", `(${lookInside})(${JSON.stringify(key)})`),
  );
  assert.deepEqual(seen, {
    verdicts: ["infected", "clean"],
    user: 65532,
    confined: ["CapEff: 0000000000000000", "NoNewPrivs: 1", "Seccomp: 2"],
    written: "EROFS",
    shell: false,
  });
  podman("stop", "--time", "40", "tried");
  assert.equal(podman("inspect", "tried", "--format", "{{.State.ExitCode}}"), "0");
  assert.match(podman("logs", "tried"), /"event":"stopped"/);
  say(`the image works: ${Math.round(size / 1e6)} MB, ${JSON.stringify(seen)}`);
} finally {
  spawnSync("podman", [...engine, "rm", "--force", "--all", "--time", "0"]);
  spawnSync("buildah", [...storage, "rm", "--all"]);
  spawnSync("podman", [...engine, "system", "reset", "--force"]);
  rmSync(folder, { recursive: true, force: true });
}

/** Runs in the container, and is put there as text. @param {string} key */
async function lookInside(key) {
  const { existsSync, readFileSync, writeFileSync } = await import("node:fs");
  const eicar = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"].join("");
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/octet-stream" };
  const verdicts = [];
  for (const body of [eicar, "hello"]) {
    const answer = await fetch("http://127.0.0.1:8040/api/v1/scan/sync/binary", { method: "POST", headers, body });
    const { status } = /** @type {{ status: string }} */ (await answer.json());
    verdicts.push(status);
  }
  let written = "written";
  try {
    writeFileSync("/opt/lazaret/file", "");
  } catch (error) {
    written = String(/** @type {NodeJS.ErrnoException} */ (error).code);
  }
  const status = readFileSync("/proc/1/status", "utf8").match(/^(CapEff|NoNewPrivs|Seccomp):.*$/gm) ?? [];
  const confined = status.map((line) => line.replace(/\s+/, " "));
  console.log(JSON.stringify({ verdicts, user: process.getuid?.(), confined, written, shell: existsSync("/bin/sh") }));
}
