import assert from "node:assert/strict";
import { verify } from "node:crypto";
import { test } from "node:test";
import type { AdminDeadLetter } from "@lazaret/contract/admin";
import { readSettings } from "../../src/settings/read-settings.ts";
import type { Settings } from "../../src/settings.ts";
import {
  FILES,
  fixtureKey,
  RECEIVER,
  serverAt,
  type UnpackedFolder,
  unpackFolder,
} from "../fixtures/data-folders/data-folder.ts";
import { adminService } from "../support/admin.ts";
import { anyEngine } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { until } from "../support/until.ts";

interface Posted {
  path: string;
  body: string;
  headers: Record<string, unknown>;
}

/** When all leases of the folder have run out, and all that waited is due. */
const LATER_MS = 600_000;

for (const version of ["0.1-schema-4", "0.1-schema-5"]) {
  test(`what ${version} left when it was killed is done, delivered and readable`, async () => {
    using place = temporaryFolder();
    const folder = unpackFolder(version, place.path);
    const posted: Posted[] = [];
    await using _files = await serverAt(FILES, (request, response) => {
      response.end(request.url === "/clean" ? "clean file" : eicar());
    });
    await using _receiver = await serverAt(RECEIVER, async (request, response) => {
      const parts = await request.toArray();
      posted.push({ path: String(request.url), body: Buffer.concat(parts).toString(), headers: request.headers });
      response.writeHead(204).end();
    });
    const startedAt = Date.now();
    await using admin = await adminService(await settingsOf(folder), {
      now: () => folder.madeAt + LATER_MS + Date.now() - startedAt,
    });
    const poll = async (traceId: string, key = fixtureKey): Promise<unknown> => {
      const path = `/api/v1/scan/async/result?trace_id=${traceId}`;
      const answer = await admin.service.call(path, { headers: { Authorization: `Bearer ${key}` } });
      return answer.status === 200 ? ((await answer.json()) as { status: string }).status : answer.status;
    };
    const postsTo = (path: string): Posted[] => posted.filter((each) => each.path === path);

    assert.deepEqual(await Promise.all(["clean", "infected", "no", "object"].map((each) => poll(`result-${each}`))), [
      "clean",
      "infected",
      "no",
      "clean",
    ]);
    const expected: Record<string, string> = {
      "under-way-1": "infected",
      "under-way-2": "infected",
      "waiting-1": "infected",
      "waiting-2": "infected",
      "waiting-3": "infected",
      "waiting-4": "infected",
      "waiting-object": "clean",
    };
    for (const [traceId, status] of Object.entries(expected)) {
      await until(`${traceId} is ${status}`, async () => (await poll(traceId)) === status);
    }
    if (folder.tenantKey) {
      await until(
        "the job of a tenant is done",
        async () => (await poll("waiting-tenant", folder.tenantKey)) === "infected",
      );
      assert.equal(await poll("waiting-tenant"), 404, "and nobody else's");
    }

    await until("what was not delivered is", () => postsTo("/down").length === 3 && postsTo("/late").length === 1);
    const deliveries = [...postsTo("/down"), ...postsTo("/late")];
    assert.deepEqual(
      deliveries
        .map(({ body }) => JSON.parse(body))
        .map(({ custom_data, status }) => `${custom_data} ${status}`)
        .sort(),
      ["undelivered-1 infected", "undelivered-2 clean", "undelivered-3 infected", "waiting-callback infected"],
    );
    assert.deepEqual(
      postsTo("/down")
        .map(({ headers }) => headers["x-token"])
        .sort(),
      ["token-1", "token-2", "token-3"],
      "headers that clients gave are read with the old secret.key",
    );
    await until("the message to a subscriber is sent", () =>
      postsTo("/topic").some(({ body }) => body.includes("letter.txt")),
    );

    const letters = await admin.get<{ entries: AdminDeadLetter[] }>("dead-letters");
    assert.deepEqual(
      letters.entries.map(({ trace_id }) => trace_id),
      ["dead"],
    );
    await admin.post("dead-letters/redrive", { ids: letters.entries.map(({ id }) => id) }, 202);
    await until("the dead letter is delivered", () => postsTo("/gone").length === 1);
    for (const { path, body, headers } of [...deliveries, ...postsTo("/gone")]) {
      const signed = Buffer.from(`${headers["x-timestamp"]}.${RECEIVER}${path}.${body}`);
      const signature = Buffer.from(String(headers["x-signature"]), "hex");
      assert.ok(verify("sha256", signed, folder.publicKey, signature), `${path} is signed with the key of before`);
    }
    await until("nothing is left", async () => {
      const { entries } = await admin.get<{ entries: unknown[] }>("jobs?state=queued");
      return entries.length === 0;
    });
  });
}

/** As its own lazaret.json has them. */
async function settingsOf({ dataDir, settingsFile }: UnpackedFolder): Promise<Settings> {
  const { clamd } = await anyEngine();
  const read = readSettings({ flags: { dataDir }, env: { LAZARET_CLAMD: clamd }, file: settingsFile });
  assert.equal(read.kind, "ok", JSON.stringify(read));
  if (read.kind !== "ok") throw new Error("unreachable");
  return { ...read.settings, adminKeys: ["admin-key-of-the-tests"] };
}
