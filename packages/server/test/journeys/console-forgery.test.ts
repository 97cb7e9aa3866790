import assert from "node:assert/strict";
import { createCipheriv, createHmac, hash, hkdfSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import { newSecret } from "../../src/access/api-key.ts";
import { openPlatform } from "../../src/compose/platform.ts";
import { QueueUnavailable } from "../../src/model/faults.ts";
import type { Platform } from "../../src/platforms/platform.ts";
import { sessions } from "../../src/receive/console/sessions.ts";
import type { Settings } from "../../src/settings.ts";
import { adminKey, codeOf, login, saidHandlers, viewerKey, visit } from "../support/console.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";
import { toldClock } from "../support/told-clock.ts";
import { until } from "../support/until.ts";

const madeAdmin = newSecret();
const madeViewer = newSecret();
const TEN_YEARS_MS = 10 * 365 * 86_400_000;
const HOUR_MS = 3_600_000;

interface Attacked {
  url: string;
  platform: Platform;
  clock: ReturnType<typeof toldClock>;
}

/** With keys that are set, and made keys of an administrator and of a viewer. */
async function attacked(settings: Partial<Settings>, attack: (service: Attacked) => Promise<void>): Promise<void> {
  const clock = toldClock();
  let opened: Platform | undefined;
  await using service: TestService = await testService(
    settings,
    {},
    {
      now: clock.now,
      admin: saidHandlers(),
      async openPlatform(...args) {
        opened = await openPlatform(...args);
        const shared = { tenant: "default", madeAt: 0, limits: {} };
        const { id, digest } = madeAdmin;
        await opened.access.addKey({ ...shared, id, digest, name: "boss", scopes: ["admin"] });
        const { id: viewerId, digest: viewerDigest } = madeViewer;
        await opened.access.addKey({
          ...shared,
          id: viewerId,
          digest: viewerDigest,
          name: "looker",
          scopes: ["viewer"],
        });
        return opened;
      },
    },
  );
  assert.ok(opened);
  await attack({ url: service.url, platform: opened, clock });
}

interface Seal {
  cookieName: string;
  seal(session: object): string;
  csrf(id: string): string;
}

/** How sessions were sealed from keys alone, until they had a secret of their own. */
function sealFrom(secret: Uint8Array | string): Seal {
  const derived = Buffer.from(hkdfSync("sha256", secret, "", "lazaret console session", 64));
  const mac = (text: string): Buffer => createHmac("sha256", derived.subarray(32)).update(text).digest();
  return {
    cookieName: `lazaret_${mac("cookie").toString("hex").slice(0, 8)}`,
    seal(session) {
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", derived.subarray(0, 32), iv);
      const sealed = Buffer.concat([cipher.update(JSON.stringify(session)), cipher.final()]);
      return Buffer.concat([iv, sealed, cipher.getAuthTag()]).toString("base64url");
    },
    csrf: (id) => mac(`csrf ${id}`).toString("base64url"),
  };
}

/** All that holders of these keys can seal with: any of them, all of them, and what they are stored as. */
function sealsOf(secrets: readonly string[]): Seal[] {
  const some = [
    ...secrets,
    secrets.toSorted().join("\n"),
    secrets.join("\n"),
    "",
    ...secrets.map((each) => `${each}\n`),
  ];
  const pairs = secrets.flatMap((one) => secrets.map((other) => [one, other].toSorted().join("\n")));
  const digests = secrets.flatMap((each) => [hash("sha256", each, "buffer"), hash("sha256", each)]);
  return [...some, ...pairs, ...digests].map(sealFrom);
}

/** Every key as a session may name it. */
const refs = [adminKey, viewerKey]
  .flatMap((key) => [hash("sha256", key, "base64url"), "admin-1", "viewer-1"])
  .concat(`made:${madeAdmin.id}`, `made:${madeViewer.id}`);

for (const [which, settings] of Object.entries<Partial<Settings>>({
  "one viewer's key is set and the administrator's was made": { viewerKeys: [viewerKey] },
  "one administrator's key is set": { adminKeys: [adminKey] },
  "keys of both kinds are set": { adminKeys: [adminKey], viewerKeys: [viewerKey] },
  "all keys were made": {},
})) {
  test(`where ${which}, no holder of keys can seal a session`, async () => {
    await attacked(settings, async ({ url, clock }) => {
      const known = [
        ...(settings.adminKeys ?? []),
        ...(settings.viewerKeys ?? []),
        madeAdmin.secret,
        madeViewer.secret,
      ];
      await until("made keys are known", async () => (await login(url, { key: madeViewer.secret })).status === 200);
      const { cookie, call } = await visit(url, madeViewer.secret);
      assert.equal((await call("/admin/v1/session")).status, 200);
      const [name = ""] = cookie.split("=");
      for (const seal of sealsOf(known)) {
        for (const ref of refs) {
          const cookies = [HOUR_MS, TEN_YEARS_MS].flatMap((ms) => {
            const digest = ref.startsWith("made:") ? madeAdmin.digest : ref;
            const sealed = seal.seal({ id: "forged", ref, digest, expiresAt: clock.now() + ms });
            return [`${name}=${sealed}`, `${seal.cookieName}=${sealed}`];
          });
          const headers = { Cookie: cookies.join("; "), Origin: url, "X-Lazaret-CSRF": seal.csrf("forged") };
          const looked = await fetch(`${url}/admin/v1/session`, { headers });
          assert.equal(await codeOf(looked), "401 not_logged_in", `${ref}, ${seal.cookieName}`);
          const done = await fetch(`${url}/admin/v1/jobs/7/rescan`, { method: "POST", headers });
          assert.equal(await codeOf(done), "401 not_logged_in", `${ref}, ${seal.cookieName}`);
        }
      }
    });
  });
}

test("even with the secret no session names a key whose digest is not known, and none lasts longer than 12 hours", async () => {
  await attacked({ viewerKeys: [viewerKey] }, async ({ url, platform, clock }) => {
    await until("made keys are known", async () => (await login(url, { key: madeAdmin.secret })).status === 200);
    const status = async (digest: string, now: () => number): Promise<number> => {
      const { cookieName, begin } = sessions(await platform.consoleSecret(), [viewerKey], now);
      const Cookie = `${cookieName}=${begin({ ref: `made:${madeAdmin.id}`, digest }).cookie}`;
      return (await fetch(`${url}/admin/v1/session`, { headers: { Cookie } })).status;
    };
    assert.equal(await status(madeAdmin.digest, clock.now), 200);
    assert.equal(await status(madeViewer.digest, clock.now), 401);
    assert.equal(await status("", clock.now), 401);
    assert.equal(await status(madeAdmin.digest, () => clock.now() + HOUR_MS), 401);
    assert.equal(await status(madeAdmin.digest, () => clock.now() + TEN_YEARS_MS), 401);
  });
});

test("a stolen session ends with its 12 hours, and its page's token changes nothing with another session", async () => {
  await attacked({ adminKeys: [adminKey] }, async ({ url, clock }) => {
    const stolen = await visit(url, adminKey);
    const own = await visit(url, adminKey);
    const headers = { "X-Lazaret-CSRF": own.session.csrf };
    assert.equal(await codeOf(await stolen.post("/admin/v1/jobs/7/rescan", {}, headers)), "403 csrf");
    assert.equal((await stolen.post("/admin/v1/jobs/7/rescan")).status, 200);
    clock.advance(12 * 3600);
    assert.equal(await codeOf(await stolen.call("/admin/v1/session")), "401 not_logged_in");
  });
});

test("sessions survive a restart, also where all keys were made; in another data folder they are none", async () => {
  using folder = temporaryFolder();
  let first = "";
  await attacked({ dataDir: folder.path }, async ({ url }) => {
    await until("made keys are known", async () => (await login(url, { key: madeAdmin.secret })).status === 200);
    first = (await visit(url, madeAdmin.secret)).cookie;
  });
  await attacked({ dataDir: folder.path }, async ({ url }) => {
    const still = (): Promise<Response> => fetch(`${url}/admin/v1/session`, { headers: { Cookie: first } });
    await until("the session is known again", async () => (await still()).status === 200);
  });
  await attacked({}, async ({ url }) => {
    await until("made keys are known", async () => (await login(url, { key: madeAdmin.secret })).status === 200);
    const { cookie } = await visit(url, madeAdmin.secret);
    const [name] = cookie.split("=");
    const headers = { Cookie: `${first}; ${name}=${first.split("=")[1]}` };
    assert.equal((await fetch(`${url}/admin/v1/session`, { headers })).status, 401);
  });
});

test("while the secret cannot be read keys alone open the console, and sessions as soon as it can", async () => {
  let away = true;
  await using service = await testService(
    { adminKeys: [adminKey] },
    {},
    {
      admin: saidHandlers(),
      async openPlatform(...args) {
        const platform = await openPlatform(...args);
        return {
          ...platform,
          async consoleSecret() {
            if (away) throw new QueueUnavailable("cannot load the sealing key");
            return platform.consoleSecret();
          },
        };
      },
    },
  );
  const { url } = service;
  const bearer = { Authorization: `Bearer ${adminKey}` };
  assert.equal((await fetch(`${url}/admin/v1/session`, { headers: bearer })).status, 200);
  assert.equal((await login(url, { key: adminKey })).status, 503);
  assert.ok(service.lines.some(({ event, error }) => event === "console" && error === "cannot load the sealing key"));
  away = false;
  await until("the secret was read again", async () => (await login(url, { key: adminKey })).status === 200);
  await visit(url, adminKey);
});
