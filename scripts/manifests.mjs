// npm run manifests: makes deploy/kubernetes from the chart, and what the tests look at. `--check` only says whether it would change anything.
// Installs Go and two of its libraries: Helm is no package of Debian or npm.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { installDebianPackages, root, say } from "./setup.mjs";

const check = process.argv.includes("--check");
const at = (path) => join(root, path);
const CHART = "deploy/helm/lazaret";
const GO_PATH = "/usr/share/gocode";
const cache = at("node_modules/.cache/lazaret-render");

installDebianPackages({
  "golang-go": ["go"],
  "golang-github-masterminds-sprig-dev": [`${GO_PATH}/src/github.com/Masterminds/sprig`],
  "golang-k8s-sigs-yaml-dev": [`${GO_PATH}/src/sigs.k8s.io/yaml`],
});
mkdirSync(cache, { recursive: true });
const renderer = join(cache, "render");
execFileSync("go", ["build", "-o", renderer, at("deploy/helm/render/render.go")], {
  env: { ...process.env, GO111MODULE: "off", GOPATH: GO_PATH, GOCACHE: join(cache, "go") },
  stdio: "inherit",
});

if (!check) copyFileSync(at("deploy/clamd.conf"), at(`${CHART}/files/clamd.conf`));

const render = (...args) => execFileSync(renderer, args, { cwd: at("deploy/helm"), encoding: "utf8" });
/** @type {Record<string, string>} */
const made = {};
for (const file of filesIn("deploy/helm/values")) {
  const name = nameOf(file);
  const values = file.slice("deploy/helm/".length);
  made[`deploy/kubernetes/${name}.yaml`] =
    `# Made from the chart in deploy/helm with values/${name}.yaml, by npm run manifests: change those.\n` +
    "# docs/run-on-kubernetes.md says what to put in place of its names.\n" +
    render("lazaret", "lazaret", "lazaret", values);
}
for (const file of filesIn("deploy/helm/variants")) {
  const values = file.slice("deploy/helm/".length);
  made[`packages/server/test/deploy/rendered/${nameOf(file)}.yaml`] =
    render("-tests", "lazaret", "scan", "quarantine", values) +
    `---\n# ${render("-only=NOTES.txt", "lazaret", "scan", "quarantine", values).trim().replaceAll(/\n/g, "\n# ")}\n`;
}

// For `sha256sum --check`, and for the test that nobody changed one side alone.
const inputs = ["Chart.yaml", "values.yaml"].map((name) => `${CHART}/${name}`);
for (const folder of [`${CHART}/templates`, `${CHART}/files`, "deploy/helm/values", "deploy/helm/variants"])
  inputs.push(...filesIn(folder));
const sums = [
  ...inputs.map((path) => [path, readFileSync(at(path), "utf8")]),
  ...Object.entries(made).sort(([a], [b]) => (a < b ? -1 : 1)),
];
made["deploy/kubernetes/made-from.sha256"] = sums
  .map(([path, text = ""]) => `${createHash("sha256").update(text).digest("hex")}  ${path}\n`)
  .join("");

const changed = Object.keys(made).filter(
  (path) => !existsSync(at(path)) || readFileSync(at(path), "utf8") !== made[path],
);
if (!check) {
  for (const path of changed) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), made[path] ?? "");
  }
}
say(
  changed.length === 0
    ? "the manifests are what the chart makes"
    : `${check ? "would change" : "wrote"} ${changed.join(", ")}`,
);
process.exit(check && changed.length > 0 ? 1 : 0);

function filesIn(folder) {
  const names = readdirSync(at(folder), { recursive: true, withFileTypes: true });
  const files = names
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
  return files.sort();
}

function nameOf(path) {
  return path.replace(/^.*\/|\.yaml$/g, "");
}
