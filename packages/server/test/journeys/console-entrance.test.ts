import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { describe, test } from "node:test";
import type { StoredKey } from "../../src/access/access-store.ts";
import { newSecret } from "../../src/access/api-key.ts";
import { openPlatform } from "../../src/compose/platform.ts";
import type { Platform } from "../../src/platforms/platform.ts";
import type { Settings } from "../../src/settings.ts";
import { adminKey, codeOf, consoleCalls, login, saidHandlers, viewerKey, visit } from "../support/console.ts";
import "../support/leftovers.ts";
import { type TestService, testKey, testService } from "../support/service.ts";
import { toldClock } from "../support/told-clock.ts";
import { until } from "../support/until.ts";

interface Started {
  service: TestService;
  platform: Platform;
  clock: ReturnType<typeof toldClock>;
  /** Handlers that were reached. */
  asked: string[];
}

/** Every request may come from an address of its own: who tries keys is slowed down by it. */
async function withConsole(
  look: (started: Started) => Promise<void>,
  settings: Partial<Settings> = {},
  broken: (platform: Platform) => Partial<Platform> = () => ({}),
): Promise<void> {
  const clock = toldClock();
  const asked: string[] = [];
  let opened: Platform | undefined;
  const given = { adminKeys: [adminKey], viewerKeys: [viewerKey], trustedProxies: ["127.0.0.0/8"], ...settings };
  await using service = await testService(
    given,
    {},
    {
      now: clock.now,
      admin: saidHandlers(asked),
      async openPlatform(...args) {
        const platform = await openPlatform(...args);
        opened = platform;
        return { ...platform, ...broken(platform) };
      },
    },
  );
  assert.ok(opened);
  await look({ service, platform: opened, clock, asked });
}

async function acts({ audit }: Platform): Promise<string[]> {
  const page = await audit.list({ limit: 100 });
  return (page?.entries ?? []).map(({ who, what, on, from }) => `${who} ${what} ${on} ${from}`).reverse();
}

function madeKey(name: string, options: Partial<StoredKey>): { secret: string; stored: StoredKey } {
  const { id, secret, digest } = newSecret();
  const stored = { id, name, tenant: "default", scopes: [], digest, madeAt: Date.now(), limits: {}, ...options };
  return { secret, stored };
}

/** So many wrong logins of one address that all have begun before any of them has sent its key. */
async function loginsAtOnce(url: string, count: number): Promise<(number | undefined)[]> {
  const headers = {
    "Content-Type": "application/json",
    "X-Forwarded-For": "192.0.2.99",
    Expect: "100-continue",
    Connection: "close",
  };
  const begun = Array.from({ length: count }, () => {
    const sent = request(`${url}/admin/v1/login`, { method: "POST", headers });
    sent.flushHeaders();
    return sent;
  });
  await Promise.all(begun.map((sent) => once(sent, "continue")));
  return Promise.all(
    begun.map(async (sent) => {
      sent.end(JSON.stringify({ key: "guess-of-a-key" }));
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    }),
  );
}

const bearer = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` });

describe("who comes in", () => {
  test("a right key becomes a session, which the page leaves again", async () => {
    await withConsole(async ({ service: { url }, platform }) => {
      const { session, setCookie, call, post } = await visit(url, adminKey);
      assert.equal(session.who, "admin-1");
      assert.equal(session.role, "admin");
      assert.equal(session.api_url, url);
      assert.match(
        setCookie,
        /^lazaret_[0-9a-f]{8}=[\w-]+; Max-Age=43200; HttpOnly; SameSite=Strict$/,
        "no Secure on loopback, and no Path, so that it is that of /admin/v1",
      );
      assert.ok(!setCookie.includes(adminKey));
      const again = await call("/admin/v1/session");
      assert.equal(again.status, 200);
      assert.deepEqual(await again.json(), session);
      assert.equal((await post("/admin/v1/logout")).status, 204);
      assert.equal(await codeOf(await call("/admin/v1/session")), "401 not_logged_in");
      const said = await acts(platform);
      assert.deepEqual(said.slice(-2), [
        "admin-1 console.login admin 127.0.0.1",
        "admin-1 console.logout admin 127.0.0.1",
      ]);
    });
  });

  test("from elsewhere the cookie travels by HTTPS only, and a page that came without it is told so", async () => {
    await withConsole(async ({ service: { url } }) => {
      const { setCookie } = await visit(url, adminKey, { "X-Forwarded-For": "192.0.2.7" });
      assert.match(setCookie, /; Secure$/);
      const proxied = { Origin: "https://scanner.example.com", "X-Forwarded-Host": "scanner.example.com" };
      assert.match((await login(url, { key: adminKey }, proxied)).headers.get("set-cookie") ?? "", /; Secure$/);
      const plain = { Origin: "http://scanner.lan", "X-Forwarded-Host": "scanner.lan" };
      assert.equal(await codeOf(await login(url, { key: adminKey }, plain)), "400 https_needed");
    });
  });

  test("wrong keys, API keys and what is no login are refused, and five wrong ones a minute are looked at", async () => {
    await withConsole(async ({ service: { url }, platform, clock }) => {
      for (const body of [{}, { key: 7 }, { key: adminKey, link: "x" }])
        assert.equal(await codeOf(await login(url, body)), "400 invalid_request");
      assert.equal(await codeOf(await login(url, { key: adminKey }, { Origin: "http://evil.example" })), "403 csrf");
      const wrong = ["wrong-key-of-somebody", testKey, `${adminKey}x`, adminKey.slice(1)];
      for (const key of wrong) assert.equal(await codeOf(await login(url, { key })), "401 wrong_key", key);
      assert.equal(await codeOf(await login(url, { link: "made-up" })), "401 wrong_link");
      // However many come at once, five of an address are looked at.
      const looked = (await loginsAtOnce(url, 30)).filter((status) => status === 401);
      assert.equal(looked.length, 5);
      const limited = await login(url, { key: adminKey });
      assert.match(limited.headers.get("retry-after") ?? "", /^\d+$/);
      assert.equal(await codeOf(limited), "429 too_many_logins");
      // Somebody else is not held up, and the key itself opens as before.
      await visit(url, adminKey, { "X-Forwarded-For": "127.9.9.9" });
      assert.equal((await fetch(`${url}/admin/v1/jobs`, { headers: bearer(adminKey) })).status, 200);
      clock.advance(61);
      await visit(url, adminKey);
      const refusals = (await acts(platform)).filter((line) => line.includes("console.login-refused"));
      assert.equal(refusals.length, 10);
      assert.ok(refusals.every((line) => !line.includes(testKey)));
    });
  });

  test("a session ends after 12 hours", async () => {
    await withConsole(async ({ service: { url }, clock }) => {
      const { call } = await visit(url, viewerKey);
      clock.advance(12 * 3600 - 60);
      assert.equal((await call("/admin/v1/jobs")).status, 200);
      clock.advance(61);
      assert.equal(await codeOf(await call("/admin/v1/jobs")), "401 not_logged_in");
    });
  });

  test("made keys of the scopes admin and viewer open it too, until they are revoked, and those of others never", async () => {
    await withConsole(async ({ service: { url }, platform }) => {
      const operator = madeKey("ops", { scopes: ["admin"] });
      const viewer = madeKey("looker", { scopes: ["viewer"] });
      const program = madeKey("web", { scopes: ["scan", "objects", "read"] });
      const stranger = madeKey("theirs", { scopes: ["admin"], tenant: "acme" });
      for (const { stored } of [operator, viewer, program, stranger]) await platform.access.addKey(stored);
      await until(
        "the new key is accepted",
        async () => (await login(url, { key: operator.secret }, anyAddress())).status === 200,
      );
      const { session, call, post } = await visit(url, operator.secret);
      assert.equal(session.who, "ops");
      assert.equal((await post("/admin/v1/jobs/7/rescan")).status, 200);
      const looking = await visit(url, viewer.secret);
      assert.equal(await codeOf(await looking.post("/admin/v1/jobs/7/rescan")), "403 viewer");
      assert.equal(await codeOf(await login(url, { key: program.secret })), "403 missing_scope");
      assert.equal(await codeOf(await login(url, { key: stranger.secret })), "403 other_tenant");
      for (const [{ secret }, code] of [
        [program, "403 missing_scope"],
        [stranger, "403 other_tenant"],
      ] as const)
        assert.equal(await codeOf(await fetch(`${url}/admin/v1/jobs`, { headers: bearer(secret) })), code);
      await platform.access.removeKey(operator.stored.id);
      await until("the session has ended", async () => (await call("/admin/v1/jobs")).status === 401);
      assert.equal((await looking.call("/admin/v1/jobs")).status, 200);
    });
  });
});

let addresses = 0;
function anyAddress(): Record<string, string> {
  addresses += 1;
  return { "X-Forwarded-For": `127.1.${addresses >> 8}.${addresses & 255}` };
}

describe("who may do what", () => {
  test("a viewer looks at everything, and does nothing: not by the page, not by hand-made requests", async () => {
    await withConsole(async ({ service: { url }, asked, platform }) => {
      const { call, post } = await visit(url, viewerKey);
      const calls = (await consoleCalls(url)).filter(({ path }) => !/login|logout/.test(path));
      const posts = calls.filter(({ method }) => method === "POST");
      assert.ok(posts.length >= 13, `only ${posts.length} calls that act`);
      for (const { path } of posts) {
        assert.equal(await codeOf(await post(path)), "403 viewer", path);
        const upload = { "Content-Type": "application/octet-stream" };
        assert.equal(await codeOf(await post(path, {}, upload)), "403 viewer", path);
        const byHand = { method: "POST", headers: bearer(viewerKey), body: "{}" };
        assert.equal(await codeOf(await fetch(`${url}${path}`, byHand)), "403 viewer", path);
      }
      assert.deepEqual(asked, []);
      for (const { path } of calls.filter(({ method }) => method === "GET"))
        assert.equal((await call(path)).status, 200, path);
      assert.ok((await acts(platform)).every((line) => !line.startsWith("viewer-1") || line.includes("console.login")));
    });
  });

  test("an operator's every act is in the audit log before it is done", async () => {
    await withConsole(async ({ service: { url }, platform, asked }) => {
      const { post } = await visit(url, adminKey);
      const posts = (await consoleCalls(url)).filter(
        ({ method, path }) => method === "POST" && !/log(?:in|out)$/.test(path),
      );
      for (const { path } of posts) assert.equal((await post(path)).status, 200, path);
      assert.equal(asked.length, posts.length);
      const lines = (await acts(platform)).filter(
        (line) => line.startsWith("admin-1") && !line.includes("console.login"),
      );
      assert.equal(lines.length, posts.length);
      assert.ok(lines.includes("admin-1 jobs.callback adminSendCallback some-id 127.0.0.1"), lines.join("\n"));
      assert.ok(lines.includes("admin-1 keys.revoke adminRevokeKey 127.0.0.1"));
    });
  });

  test("what cannot be written into the audit log is not done; who comes in comes in", async () => {
    let isAway = false;
    const broken = ({ audit }: Platform): Partial<Platform> => ({
      audit: {
        ...audit,
        add: (entry) => (isAway ? Promise.reject(new Error("the disk is full")) : audit.add(entry)),
      },
    });
    await withConsole(
      async ({ service: { url, lines }, asked }) => {
        isAway = true;
        const { post, call } = await visit(url, adminKey);
        assert.equal(await codeOf(await post("/admin/v1/dead-letters/delete")), "503 audit_unavailable");
        assert.deepEqual(asked, []);
        assert.equal((await call("/admin/v1/jobs")).status, 200);
        assert.ok(lines.some(({ event }) => event === "audit"));
        isAway = false;
        assert.equal((await post("/admin/v1/dead-letters/delete")).status, 200);
      },
      {},
      broken,
    );
  });

  test("an act that left no line in the audit log is no success", async () => {
    const admin = { ...saidHandlers(), adminRescan: async () => ({ status: 200, json: {} }) };
    await using service = await testService({ adminKeys: [adminKey] }, {}, { admin });
    const { post } = await visit(service.url, adminKey);
    assert.equal(await codeOf(await post("/admin/v1/jobs/7/rescan")), "500 internal_error");
  });

  test("keys of LAZARET_API_KEYS, no key and made-up sessions open no call", async () => {
    await withConsole(async ({ service: { url }, asked }) => {
      const { cookie } = await visit(url, adminKey);
      const [name = "", value = ""] = cookie.split("=");
      const calls = (await consoleCalls(url)).filter(({ path }) => !/log(?:in|out)$/.test(path));
      assert.ok(calls.length > 30);
      for (const { method, path } of calls) {
        const tries: [Record<string, string>, string][] = [
          [bearer(testKey), "401 wrong_key"],
          [{ "X-Api-Key": testKey }, "401 not_logged_in"],
          [{ "X-Api-Key": adminKey }, "401 not_logged_in"],
          [{ Authorization: `Basic ${adminKey}`, Cookie: cookie }, "401 not_logged_in"],
          [{}, "401 not_logged_in"],
          [{ Cookie: `${name}=${value.slice(0, -2)}` }, "401 not_logged_in"],
          [{ Cookie: `session=${value}` }, "401 not_logged_in"],
        ];
        for (const [headers, code] of tries)
          assert.equal(
            await codeOf(await fetch(`${url}${path}`, { method, headers: { ...anyAddress(), ...headers } })),
            code,
            `${method} ${path} ${JSON.stringify(headers)}`,
          );
      }
      assert.deepEqual(asked, []);
    });
  });

  test("a session opens nothing of the API, and neither does a key of the console", async () => {
    await withConsole(async ({ service: { url } }) => {
      const { call } = await visit(url, adminKey);
      for (const path of ["/v1/whoami", "/api/v1/test", "/v1/usage", "/metrics/tenants"]) {
        assert.equal(await codeOf(await call(path)), "401 invalid_api_key", path);
        assert.equal(await codeOf(await fetch(`${url}${path}`, { headers: bearer(adminKey) })), "401 invalid_api_key");
      }
    });
  });

  test("who has shown no key makes nobody hold more than a key", async () => {
    await withConsole(async ({ service: { url } }) => {
      assert.equal(await codeOf(await login(url, { key: "x".repeat(9000) })), "413 body_too_large");
      assert.equal((await login(url, { key: adminKey, more: "x".repeat(7000) })).status, 200);
    });
  });

  test("a page of somebody else changes nothing with the session of who looks at it", async () => {
    await withConsole(async ({ service: { url }, asked }) => {
      const { call, post, cookie, session } = await visit(url, adminKey);
      const other = await visit(url, adminKey);
      const path = "/admin/v1/keys/revoke";
      const origin = new URL(url).origin;
      const json = { "Content-Type": "application/json" };
      const wrong: Record<string, string>[] = [
        { Origin: origin },
        { Origin: origin, "X-Lazaret-CSRF": "" },
        { Origin: origin, "X-Lazaret-CSRF": other.session.csrf },
        { "X-Lazaret-CSRF": session.csrf },
        { Origin: "null", "X-Lazaret-CSRF": session.csrf },
        { Origin: "http://evil.example", "X-Lazaret-CSRF": session.csrf },
        { Origin: `${origin}.evil.example`, "X-Lazaret-CSRF": session.csrf },
      ];
      for (const headers of wrong) {
        const answer = await call(path, { method: "POST", headers: { ...json, ...headers }, body: "{}" });
        assert.equal(await codeOf(answer), "403 csrf", JSON.stringify(headers));
      }
      const leave = await call("/admin/v1/logout", { method: "POST", headers: { Origin: "http://evil.example" } });
      assert.equal(await codeOf(leave), "403 csrf");
      // A browser sends no cookie there, and would take one back that the answer takes back.
      const bare = await fetch(`${url}/admin/v1/logout`, {
        method: "POST",
        headers: { Origin: "http://evil.example" },
      });
      assert.equal(bare.headers.get("set-cookie"), null);
      assert.equal(await codeOf(bare), "403 csrf");
      assert.deepEqual(asked, []);
      assert.equal((await post(path)).status, 200);
      // A key in the header is no browser's doing.
      const script = { method: "POST", headers: { ...json, ...bearer(adminKey), Cookie: cookie }, body: "{}" };
      assert.equal((await fetch(`${url}${path}`, script)).status, 200);
    });
  });

  test("named parts of a path come decoded, and other paths of the same length stay what they are", async () => {
    await withConsole(async ({ service: { url } }) => {
      const ask = async (path: string, method = "GET"): Promise<unknown> =>
        (await fetch(`${url}/admin/v1/${path}`, { method, headers: bearer(adminKey) })).json();
      const who = { who: "admin-1", role: "admin" };
      assert.deepEqual(await ask("jobs/a%2Fb%20c"), { name: "adminJob", params: { id: "a/b c" }, ...who });
      assert.deepEqual(await ask("jobs/counts"), { name: "adminJobCounts", params: {}, ...who });
      assert.deepEqual(await ask("tasks/9/stop", "POST"), { name: "adminStopTask", params: { id: "9" }, ...who });
      for (const path of ["jobs/%zz", "jobs/1/2/3", "jobs/1/other", "nothing"])
        assert.equal(((await ask(path)) as { code: string }).code, "not_found", path);
      const answer = await fetch(`${url}/admin/v1/jobs/1`, { method: "POST", headers: bearer(adminKey) });
      assert.equal(answer.headers.get("allow"), "GET, HEAD");
      assert.equal(await codeOf(answer), "405 method_not_allowed");
    });
  });
});
