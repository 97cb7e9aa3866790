import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { until } from "../../test/support/until.ts";
import { newSecret } from "./api-key.ts";
import { followTenantsFile, readTenantsFile, type TenantsFile } from "./tenants-file.ts";

const { id, secret, digest } = newSecret();
const other = newSecret();

function reading(text: string): { read: TenantsFile } & Disposable {
  const folder = temporaryFolder();
  const path = join(folder.path, "tenants.yaml");
  writeFileSync(path, text);
  return { read: readTenantsFile(path), [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

function problemsOf(text: string): readonly string[] {
  using file = reading(text);
  return file.read.kind === "refused" ? file.read.problems : [];
}

const YAML = `
# Those who share this installation.
tenants:
  shop:
    weight: 2
    limits: { requestsPerSecond: 50, bytesPerMonth: 1.5GB }
    buckets: [shop-*, common]
    keys:
      web:
        digest: ${id}:${digest}
        scopes: [scan, read]
        expires: 2027-01-31
        limits: { largestFile: 100MB }
      app:
        secretFile: app.key
        scopes: scan
  press:
`;

test("a file declares tenants, limits, buckets and keys, in YAML or JSON", () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, "app.key"), `${other.secret}\n`);
  const path = join(folder.path, "tenants");
  const key = { name: "web", tenant: "shop", scopes: ["scan", "read"], madeAt: 0 };
  const expected = {
    tenants: [
      {
        name: "shop",
        weight: 2,
        limits: { requestsPerSecond: 50, bytesPerMonth: 1.5 * 1024 ** 3 },
        buckets: ["shop-*", "common"],
      },
      { name: "press", weight: 1, limits: {} },
    ],
    keys: [
      { ...key, id, digest, expiresAt: Date.UTC(2027, 0, 31), limits: { largestFile: 100 * 1024 ** 2 } },
      { ...key, name: "app", scopes: ["scan"], id: other.id, digest: other.digest, limits: {} },
    ],
  };
  const json = {
    tenants: {
      shop: {
        weight: 2,
        limits: { requestsPerSecond: "50", bytesPerMonth: "1.5GB" },
        buckets: ["shop-*", "common"],
        keys: {
          web: {
            digest: [`${id}:${digest}`],
            scopes: ["scan", "read"],
            expires: "2027-01-31",
            limits: { largestFile: 104857600 },
          },
          app: { secretFile: join(folder.path, "app.key"), scopes: ["scan"] },
        },
      },
      press: {},
    },
  };
  for (const text of [YAML, JSON.stringify(json), JSON.stringify(json, null, 2)]) {
    writeFileSync(path, text);
    const read = readTenantsFile(path);
    assert.ok(read.kind === "read", JSON.stringify(read));
    assert.deepEqual(read.access, expected);
  }
});

// spec: tenant-7
test("every mistake is named with its place, and one refuses the whole file", () => {
  const text = `tenants:
  Shop: {}
  other: {}
  shop:
    wieght: 2
    weight: 1001
    limits: { filesPerMonth: 0, requestsPerSecond: many, largestFile: [1] }
    buckets: ["a b", 3]
    keys:
      web: { digest: nonsense, scopes: [scan, write] }
      app: { scopes: scan, expires: soon }
      cli: { digest: "${id}:${digest}" }
      one: { digest: "${id}:${digest}", scopes: scan }
      two: { secretFile: nowhere.key, scopes: scan }
      three: yes
`;
  assert.deepEqual(
    problemsOf(text).map((each) => each.replace(/\/.*\//, "…/")),
    [
      "line 2: tenants.Shop must be a name of a-z, 0-9 and -, at most 63, with no - at its beginning or end",
      "line 3: tenants.other must not be other, which metrics call all that have no label",
      "line 5: tenants.shop.wieght is not known here: weight, limits, buckets, keys",
      "line 6: tenants.shop.weight must be a whole number from 1 to 1000",
      "line 8: tenants.shop.buckets.0 must be the name of a bucket, in which * stands for anything",
      "line 8: tenants.shop.buckets.1 must be a text",
      "line 7: tenants.shop.limits.filesPerMonth must be a whole number from 1 on",
      "line 7: tenants.shop.limits.requestsPerSecond must be a whole number from 1 on",
      "line 7: tenants.shop.limits.largestFile must be a size, such as 4096, 500KB or 10GB",
      "line 10: tenants.shop.keys.web.scopes.1 must be of scan, objects, read, admin, viewer",
      "line 10: tenants.shop.keys.web.digest must be what lazaret keys digest prints",
      "line 11: tenants.shop.keys.app must have one of digest and secretFile",
      "line 11: tenants.shop.keys.app.expires must be a date, such as 2027-01-31",
      "line 12: tenants.shop.keys.cli must have scopes",
      "line 14: tenants.shop.keys.two.secretFile cannot read …/nowhere.key: ENOENT",
      "line 15: tenants.shop.keys.three must be names with what belongs to them",
      "line 15: tenants.shop.keys.three must have one of digest and secretFile",
      "line 15: tenants.shop.keys.three must have scopes",
      "line 13: tenants.shop.keys.one has a digest that another key has, too",
    ],
  );
});

test("names are what is written, also where they look like numbers", () => {
  using file = reading(
    `tenants:\n  007: {}\n  1e3:\n    keys: { 0x10: { digest: "${id}:${digest}", scopes: scan } }\n`,
  );
  assert.ok(file.read.kind === "read", JSON.stringify(file.read));
  assert.deepEqual(
    file.read.access.tenants.map(({ name }) => name),
    ["007", "1e3"],
  );
  assert.deepEqual(
    file.read.access.keys.map(({ name }) => name),
    ["0x10"],
  );
  assert.deepEqual(problemsOf(`tenants: { shop: { keys: {{ ${secret} }} } }`), ["line 1: non string key"]);
});

test("a word with nothing behind it opens nothing: somebody took its lines away, or a template had no value", () => {
  const text = `tenants:
  shop:
    weight:
    limits: { filesPerMonth: }
    buckets:
    #  - shop-a
    keys:
      web: { digest: "${id}:${digest}", scopes: scan, expires: }
      app: { digest: [], scopes: scan }
  press: { limits: , keys: }
`;
  assert.deepEqual(problemsOf(text), [
    "line 3: tenants.shop.weight has nothing behind it",
    "line 5: tenants.shop.buckets has nothing behind it",
    "line 4: tenants.shop.limits.filesPerMonth has nothing behind it",
    "line 8: tenants.shop.keys.web.expires has nothing behind it",
    "line 9: tenants.shop.keys.app.digest must be what lazaret keys digest prints",
    "line 10: tenants.press.limits has nothing behind it",
  ]);
});

test("a day that no calendar has is no date", () => {
  const expires = (date: string): string =>
    `tenants: { shop: { keys: { web: { digest: "${id}:${digest}", scopes: scan, expires: ${date} } } } }`;
  const wrong = ["2027-02-31", "2027-02-29T10:00:00Z", "2027-00-10", "'2027-01-31 (soon)'", "2027-01-31-"];
  for (const date of wrong) {
    const problem = "line 1: tenants.shop.keys.web.expires must be a date, such as 2027-01-31";
    assert.deepEqual(problemsOf(expires(date)), [problem], date);
  }
  const right = ["2028-02-29", "2027-01-31T10:00:00Z", "2027-01-31T10:00", "2027-01-31T23:30:00+05:30"];
  for (const date of right) assert.deepEqual(problemsOf(expires(date)), [], date);
});

test("what is no such file at all is refused, and never taken for one that declares nothing", () => {
  for (const text of [
    "",
    "\n",
    "# nothing\n",
    "[]",
    "tenants",
    "tenants:",
    "{}",
    "tenants: 3",
    "tenants: [shop]",
    "\0",
  ])
    assert.notDeepEqual(problemsOf(text), [], JSON.stringify(text));
  assert.deepEqual(problemsOf("tenants: {}"), []);
  assert.deepEqual(problemsOf("tenants:\n  shop: {}\n  shop: {}\n"), ["line 3: duplicate key"]);
  assert.deepEqual(problemsOf('{"tenants": {"shop": {}, "shop": {}}}'), ["line 1: duplicate key"]);
  const grown = Array.from({ length: 9 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}]`);
  assert.deepEqual(problemsOf(`a0: &a0 [x]\n${grown.join("\n")}\n`), ["line 1: the file has too many aliases"]);
  assert.notDeepEqual(problemsOf("tenants:\n  __proto__: { weight: 3 }\n"), []);
  using folder = temporaryFolder();
  const missing = readTenantsFile(join(folder.path, "none"));
  assert.ok(missing.kind === "refused");
  assert.match(missing.problems.join(), /cannot read .*none: ENOENT/);
});

// spec: tenant-7
test("no problem shows a secret, wherever somebody put it", () => {
  for (const text of [
    `tenants: { shop: { keys: { web: { digest: ${secret}, scopes: scan } } } }`,
    `tenants: { shop: { keys: { web: { digest: "${secret}`,
    `tenants: { shop: { keys: { ${secret}: { scopes: scan } } } }`,
    `tenants: { ${secret}: {} }`,
    `tenants: { shop: { ${secret}: 1, weight: ${secret}, buckets: "${secret} ", limits: { jobsWaiting: ${secret} } } }`,
    `tenants: { shop: { keys: { web: { digest: a, scopes: ${secret}, expires: ${secret} } } } }`,
    `tenants:\n  ${secret}\n ${secret}: @${secret}\n`,
    secret,
  ]) {
    const problems = problemsOf(text).join();
    assert.notEqual(problems, "", text);
    assert.ok(!problems.includes(secret.slice(12)), problems);
  }
});

test("a change is taken up when it stands still, whether written, exchanged or in a secret's file", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "tenants.yaml");
  const seen: TenantsFile[] = [];
  const weights = (): unknown[] =>
    seen.map((read) => (read.kind === "read" ? (read.access.tenants[0]?.weight ?? "none") : "refused"));
  writeFileSync(path, "tenants: { shop: { weight: 1 } }");
  using _following = followTenantsFile(path, readTenantsFile(path), {
    everyMs: 5,
    onChange: (read) => void seen.push(read),
  });
  const expecting = (expected: readonly unknown[]): Promise<void> =>
    until(`${expected}`, () => JSON.stringify(weights()) === JSON.stringify(expected));
  writeFileSync(path, "tenants: { shop: { weight: 2 } }");
  await expecting([2]);
  writeFileSync(`${path}.new`, "tenants: { shop: { weight: 3 } }");
  renameSync(`${path}.new`, path);
  await expecting([2, 3]);
  writeFileSync(path, "tenants: { shop: { weight: 0 } }");
  await expecting([2, 3, "refused"]);
  rmSync(path);
  await expecting([2, 3, "refused", "refused"]);
  mkdirSync(join(folder.path, "secrets"));
  const keyed = "tenants: { shop: { weight: 4, keys: { web: { secretFile: secrets/web, scopes: scan } } } }";
  writeFileSync(path, keyed);
  await expecting([2, 3, "refused", "refused", "refused"]);
  writeFileSync(join(folder.path, "secrets/web"), secret);
  await expecting([2, 3, "refused", "refused", "refused", 4]);
});

test("a folder that is exchanged behind a link is followed, as Kubernetes does it", async () => {
  using folder = temporaryFolder();
  const at = (name: string): string => join(folder.path, name);
  for (const weight of [1, 2]) {
    mkdirSync(at(`..v${weight}`));
    writeFileSync(at(`..v${weight}/tenants.yaml`), `tenants: { shop: { weight: ${weight} } }`);
  }
  symlinkSync("..v1", at("..data"));
  symlinkSync("..data/tenants.yaml", at("tenants.yaml"));
  const first = readTenantsFile(at("tenants.yaml"));
  const seen: unknown[] = [];
  const onChange = (read: TenantsFile): unknown =>
    seen.push(read.kind === "read" ? read.access.tenants[0]?.weight : read.problems);
  using _following = followTenantsFile(at("tenants.yaml"), first, { everyMs: 5, onChange });
  symlinkSync("..v2", at("..new"));
  renameSync(at("..new"), at("..data"));
  await until("the new one is read", () => seen.length > 0);
  assert.deepEqual(seen, [2]);
});

test("what would hold up the service is refused: files that are too large or none, too many secrets, mistakes without end", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "tenants.yaml");
  const problems = (): readonly string[] => {
    const read = readTenantsFile(path);
    return read.kind === "refused" ? read.problems : [];
  };
  writeFileSync(path, `tenants: {}\n#${" ".repeat(8 * 1024 * 1024)}`);
  assert.match(problems().join(), /cannot read .* it has more than 8388608 bytes/);
  writeFileSync(path, `tenants:\n${Array.from({ length: 500 }, (_, n) => `  T${n}: {}\n`).join("")}`);
  assert.equal(problems().length, 100);
  writeFileSync(path, "tenants: { shop: { keys: { web: { secretFile: secret, scopes: scan } } } }");
  writeFileSync(join(folder.path, "secret"), `${secret}${" ".repeat(4096)}`);
  assert.match(problems().join(), /secretFile cannot read .* it has more than 4096 bytes/);
  const keys = Array.from({ length: 1001 }, (_, n) => `k${n}: { secretFile: "s${n}", scopes: scan }`);
  for (let n = 0; n < 1001; n += 1) writeFileSync(join(folder.path, `s${n}`), newSecret().secret);
  writeFileSync(path, `tenants: { shop: { keys: { ${keys.slice(1).join(", ")} } } }`);
  assert.deepEqual(problems(), []);
  writeFileSync(path, `tenants: { shop: { keys: { ${keys.join(", ")} } } }`);
  assert.deepEqual(problems(), [
    "line 1: tenants.shop.keys.k1000.secretFile is one of more than 1000 files: write digests instead",
  ]);
  const device = readTenantsFile("/dev/null");
  assert.deepEqual(device.kind === "refused" && device.problems, ["cannot read /dev/null: it is no file"]);
});

test("a file that somebody is writing is not read before it stands still", async (context) => {
  using folder = temporaryFolder();
  const path = join(folder.path, "tenants.yaml");
  const write = (weight: number): void =>
    writeFileSync(path, `tenants: { shop: { weight: ${weight} } }\n#${"x".repeat(weight)}`);
  write(1);
  const first = readTenantsFile(path);
  const seen: unknown[] = [];
  const onChange = (read: TenantsFile): unknown => seen.push(read.kind === "read" && read.access.tenants[0]?.weight);
  context.mock.timers.enable({ apis: ["setInterval"] });
  const read = async (): Promise<TenantsFile> => readTenantsFile(path);
  using _following = followTenantsFile(path, first, { everyMs: 1, onChange, read });
  const look = async (): Promise<void> => {
    context.mock.timers.tick(1);
    await new Promise(setImmediate);
  };
  for (const weight of [2, 3, 4]) {
    write(weight);
    await look();
  }
  assert.deepEqual(seen, []);
  await look();
  assert.deepEqual(seen, [4]);
});
