// npm run try-pod: runs the containers of the embedded pod on this machine, as Kubernetes would: docs/run-on-kubernetes.md. Needs root.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fail, installDebianPackages, installPackages, ownNode, root } from "./setup.mjs";

if (process.getuid?.() !== 0) fail("this mounts file systems and changes users", "run it as root");
installPackages("all");
installDebianPackages({ "clamav-daemon": ["clamd"], clamdscan: ["clamdscan"], iproute2: ["ip"] });
// A network and mounts of its own: its ports are nobody else's, and what is mounted is gone with it.
const pod = join(root, "packages/server/test/deploy/try-pod.ts");
const { status } = spawnSync("unshare", ["--net", "--mount", ownNode, pod], { cwd: root, stdio: "inherit" });
process.exit(status ?? 1);
