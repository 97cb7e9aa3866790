import assert from "node:assert/strict";
import { verify } from "node:crypto";
import { test } from "node:test";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { eicar } from "../support/eicar.ts";
import { places, type TwoTenants, twoTenants } from "../support/two-tenants.ts";
import { until } from "../support/until.ts";

/** `PROBES=10000` for all of them; here as many as a test may take. */
const probesAt = (where: string): number =>
  Number(process.env.PROBES ?? (["embedded", "postgres"].includes(where) ? 100 : 60));
/** More than one page. */
const FAILURES = 130;
const OWN = 3;

interface Ask {
  method?: string;
  path: string;
  body?: object;
}

async function ask(
  here: TwoTenants,
  tenant: "shop" | "bank",
  { method, path, body }: Ask,
  xApiKey = false,
): Promise<Response> {
  const secret = here.secretOf[tenant];
  return fetch(`${here.service.url}${path}`, {
    method: method ?? (body ? "POST" : "GET"),
    headers: {
      ...(xApiKey ? { "x-api-key": secret } : { Authorization: `Bearer ${secret}` }),
      ...(body && { "Content-Type": "application/json" }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
}

/** All that a client sees of an answer, but for what differs from one request to the next whoever asks: ids and times. */
async function seen(response: Response): Promise<string> {
  const headers = [...response.headers].filter(([name]) => !["date", "x-request-id"].includes(name));
  const body = (await response.text())
    .replace(/"request_id":"[^"]*"/, "")
    .replace(/"(download|scan)_time":"[\d.]+"/g, "");
  return JSON.stringify([response.status, headers, body]);
}

async function json<Fields>(response: Response): Promise<Fields> {
  assert.equal(response.status, 200);
  return (await response.json()) as Fields;
}

const result = (traceId: string): string => `scan/async/result?trace_id=${encodeURIComponent(traceId)}`;
const failures = (query: string): string => `/v1/callback/failures${query}`;

/** What bank has, and what nobody has: the same question about both. */
function questions(here: TwoTenants, cursor: string): [what: string, theirs: Ask, nobodys: Ask][] {
  const { files, cursors } = here;
  const [late, early] = cursors;
  const both = (what: string, of: (name: string) => Ask): [string, Ask, Ask] => [what, of("bank"), of("none")];
  const prefixes = ["/api/v1/", "/v1/"];
  const objects = prefixes.flatMap((prefix) => ["objstore", "s3"].map((word) => [prefix, word] as const));
  const url = `${files.origin}/clean`;
  return [
    ...prefixes.flatMap((prefix) =>
      ["done", "waiting"].flatMap((state) =>
        ["GET", "HEAD"].map((method) =>
          both(`${method} ${prefix} result ${state}`, (name) => ({
            method,
            path: `${prefix}${result(`${name}-${state}`)}`,
          })),
        ),
      ),
    ),
    both("failures of a URL", (name) => ({ path: failures(`?callback_url=http://${name}.example/0`) })),
    ["failures from a cursor", { path: failures(`?cursor=${cursor}`) }, { path: failures(`?cursor=${late}`) }],
    [
      "failures, of a cursor and URL",
      { path: failures(`?cursor=${cursor}&callback_url=http://bank.example/1`) },
      { path: failures(`?cursor=${early}&callback_url=http://none.example/1`) },
    ],
    ...objects.flatMap(([prefix, word]) =>
      ["", "v1"].flatMap((version) => {
        const named = (name: string): object => ({
          bucket: `${name}-in`,
          key: "file.txt",
          ...(version && { version }),
        });
        return [
          both(`${prefix} sync ${word} ${version}`, (name) => ({
            path: `${prefix}scan/sync/${word}`,
            body: named(name),
          })),
          both(`${prefix} async ${word} ${version}`, (name) => ({
            path: `${prefix}scan/async/${word}`,
            body: { ...named(name), trace_id: `object-${prefix}-${word}` },
          })),
        ];
      }),
    ),
    ...prefixes.map((prefix): [string, Ask, Ask] => [
      `${prefix} submit with their trace id`,
      { path: `${prefix}scan/async/download`, body: { download_url: url, trace_id: "bank-shadow" } },
      { path: `${prefix}scan/async/download`, body: { download_url: url, trace_id: "none-shadow" } },
    ]),
    both("an object's link", (name) => ({
      path: `/objects/${name}-in/file.txt?expires=9999999999&signature=${"0".repeat(64)}`,
    })),
  ];
}

/** Names differ in the question, and so where an answer repeats them. */
const unnamed = (text: string): string => text.replaceAll(/(bank|none)-(shadow|in)/g, "…-$2");

async function bankAtWork(here: TwoTenants): Promise<string> {
  const { buckets, files, service, store } = here;
  buckets.put("bank-in", "file.txt", eicar());
  buckets.put("shop-in", "file.txt", "clean file");
  const submit = async (fields: object): Promise<void> => {
    const body = { download_url: `${files.origin}/eicar`, ...fields };
    const { status } = await ask(here, "bank", { path: "/api/v1/scan/async/download", body });
    assert.ok([201, 204].includes(status), `${status}`);
  };
  for (const traceId of ["bank-done", "bank-shadow"]) {
    await submit({ trace_id: traceId });
    await until(`${traceId} has a result`, async () => {
      return (await ask(here, "bank", { path: `/api/v1/${result(traceId)}` })).status === 200;
    });
  }
  // It waits for another try.
  await submit({ trace_id: "bank-waiting", download_url: `${files.origin}/away` });
  for (let count = 0; count < FAILURES; count += 1) {
    const error = { message: "refused", code: "HTTP_500", metadata: { attempts: 24 } };
    for (const tenant of count < OWN ? ["bank", "shop"] : ["bank"]) {
      const callbackUrl = `http://${tenant}.example/${count % 2}`;
      const failed = { tenant, failedAt: Date.now(), downloadUrl: `http://${tenant}.example/`, callbackUrl, error };
      await store.callbackFailures.record({ ...failed, id: `${tenant}-${count}` });
    }
  }
  const page = await json<{ failures: { id: string }[]; next_cursor: string }>(
    await ask(here, "bank", { path: failures("") }),
  );
  assert.equal(page.failures.length, 100);
  assert.ok(service.lines.every((line) => !JSON.stringify(line).includes(here.secretOf.bank)));
  return encodeURIComponent(page.next_cursor);
}

/** What came of the jobs about an object in a closed bucket, and about one in a bucket that is not there. */
async function jobsFindNothing(here: TwoTenants): Promise<void> {
  await using receiver = await callbackReceiver(answering(204));
  const told: string[] = [];
  for (const name of ["bank", "none"]) {
    const object = { bucket: `${name}-in`, key: "file.txt", trace_id: `closed-${name}` };
    const body = { ...object, callback_url: `${receiver.origin}/` };
    assert.equal((await ask(here, "shop", { path: "/v1/scan/async/s3", body })).status, 204);
    await until("it is called back", () => receiver.requests.length === told.length + 1, { limitMs: 60_000 });
    const polled = await seen(await ask(here, "shop", { path: `/v1/${result(`closed-${name}`)}` }));
    const called = String(receiver.requests.at(-1)?.body).replace(/"(download|scan)_time":"[\d.]+"/g, "");
    told.push(`${polled} ${called}`.replaceAll(`${name}-in`, "…").replaceAll(`closed-${name}`, "…"));
  }
  assert.match(told[0] ?? "", /scanner:object-not-found/);
  assert.equal(told[0], told[1]);
  assert.deepEqual(await here.buckets.tagsOf("bank-in", "file.txt"), {}, "nothing was done to it");
}

async function onlyOperatorsCountTenants(here: TwoTenants): Promise<void> {
  const open = await (await fetch(`${here.service.url}/metrics`)).text();
  assert.match(open, /^lazaret_requests_total/m);
  assert.doesNotMatch(open, /bank|shop/);
  const refused = await ask(here, "shop", { path: "/metrics/tenants" });
  assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [403, "missing_scope"]);
  assert.equal((await fetch(`${here.service.url}/metrics/tenants`)).status, 401);
  const told = await (await ask(here, "bank", { path: "/metrics/tenants" })).text();
  for (const tenant of ["shop", "bank"])
    assert.match(
      told,
      new RegExp(`^lazaret_tenant_requests_total\\{tenant="${tenant}",key="[^"]+",status="200"\\} [1-9]`, "m"),
    );
}

for (const platform of Object.keys(places)) {
  // spec: tenant-4
  test(`${platform}: what is another tenant's is answered as what is nowhere, after the same lookups`, async () => {
    await using here = await twoTenants(platform);
    const cursor = await bankAtWork(here);
    const all = questions(here, cursor);
    const credits = async (): Promise<number> =>
      (await json<{ credits: number }>(await ask(here, "bank", { path: "/v1/usage" }))).credits;
    // Each try of the job that waits counts as a file.
    const tries = (): number => here.files.asked.filter((path) => path === "/away").length;

    for (let probes = 0; probes < probesAt(platform); ) {
      for (const [what, theirs, nobodys] of all) {
        const answers: string[] = [];
        for (const each of probes % 4 < 2 ? [theirs, nobodys] : [nobodys, theirs]) {
          here.asked.length = 0;
          const answer = unnamed(await seen(await ask(here, "shop", each, probes % 3 === 0)));
          answers.push(JSON.stringify([answer, here.asked]));
          assert.ok(!/bank\.example|scanner:test|Eicar/i.test(answer), `${what}: ${answer}`);
        }
        assert.equal(answers[0], answers[1], what);
        probes += 2;
      }
    }

    // All that shop did was its own: bank has what it had, and what shop sees is shop's.
    await until("its own files are counted, and no others", async () => (await credits()) === 5000 - 2 - tries());
    const kept = await json<{ status: string }>(await ask(here, "bank", { path: `/v1/${result("bank-shadow")}` }));
    assert.equal(kept.status, "infected", "a submission of another tenant hides no result");
    const ownResult = async (): Promise<boolean> => {
      const response = await ask(here, "shop", { path: `/v1/${result("bank-shadow")}` });
      return response.status === 200 && ((await response.json()) as { status: string }).status === "clean";
    };
    // Behind all the others that shop submitted.
    await until("shop has its own under that trace id", ownResult, { limitMs: 120_000 });
    const listed = await json<{ failures: { id: string }[] }>(await ask(here, "shop", { path: failures("") }));
    assert.deepEqual(listed.failures.map(({ id }) => id).sort(), ["shop-0", "shop-1", "shop-2"]);
    for (const tenant of ["shop", "bank"] as const)
      assert.deepEqual(await json(await ask(here, tenant, { path: "/v1/whoami" })), { tenantId: tenant });
    await jobsFindNothing(here);
    await onlyOperatorsCountTenants(here);
    for (const event of ["request", "job"])
      assert.ok(
        here.service.lines.some((line) => line.event === event && line.tenant === "shop" && line.key === "web"),
      );
    const answered = new Set(here.service.lines.filter(({ event }) => event === "request").map((line) => line.port));
    assert.equal(answered.size, platform === "two services" ? 2 : 1, "each of them was asked");
    const own = { bucket: "bank-in", key: "file.txt" };
    const scanned = await json<{ status: string }>(await ask(here, "bank", { path: "/v1/scan/sync/s3", body: own }));
    assert.equal(scanned.status, "infected");
    assert.deepEqual(await here.buckets.tagsOf("shop-in", "file.txt"), {}, "nobody asked for it");
  });

  test(`${platform}: callbacks of a tenant are signed over its own id`, async () => {
    await using here = await twoTenants(platform);
    await using receiver = await callbackReceiver(answering(204));
    const publicKey = await (await fetch(`${here.service.url}/.well-known/lazaret/callback-key.pem`)).text();
    const url = `${receiver.origin}/done`;
    for (const tenant of ["shop", "bank"] as const) {
      const received = receiver.requests.length;
      const body = { download_url: `${here.files.origin}/clean`, callback_url: url };
      assert.equal((await ask(here, tenant, { path: "/v1/scan/async/download", body })).status, 204);
      await until("the callback is there", () => receiver.requests.length > received);
      const callback = receiver.requests[received];
      const [signature = "", timestamp = ""] = ["x-signature", "x-timestamp"].map(
        (name) => callback?.values(name)[0] ?? "",
      );
      const signedFor = (id: string): boolean => {
        const text = Buffer.concat([Buffer.from(`${timestamp}.${id}.${url}.`), callback?.body ?? Buffer.alloc(0)]);
        return verify("sha256", text, publicKey, Buffer.from(signature, "hex"));
      };
      assert.deepEqual([signedFor("shop"), signedFor("bank")], [tenant === "shop", tenant === "bank"]);
    }
  });
}
