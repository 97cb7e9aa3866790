import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { temporaryFolder, watchChild } from "../support/leftovers.ts";
import { tryFanOut } from "../support/try-fan-out.ts";
import { until } from "../support/until.ts";

const script = fileURLToPath(new URL("./fan-out-until-killed.ts", import.meta.url));

test("every finding that was published arrives, though those who send are killed -9 in mid-sending", async () => {
  using folder = temporaryFolder();
  await using receiver = await callbackReceiver(answering(200));
  const published = new Set<string>();
  for (let kill = 0; kill < 4; kill += 1) {
    const children = Array.from({ length: 1 + (kill % 2) }, () =>
      publishedUntilKilled(folder.path, receiver.origin, published),
    );
    await Promise.all(children);
  }
  assert.ok(published.size > 10, `only ${published.size} findings were published`);

  // Late enough for all leases and delays of the dead to be over.
  await using fanOut = await tryFanOut(folder.path, {
    subscriptions: [{ protocol: "http", endpoint: receiver.origin }],
    clock: { now: Date.now() + 3_600_000 },
  });
  const arrived = (): Set<string> => new Set(receiver.requests.flatMap((each) => each.values("x-message-id")));
  await until("all are sent", async () => (await fanOut.counts())[0]?.waiting === 0, { limitMs: 120_000 });
  assert.deepEqual([...published.difference(arrived())], [], "published, and lost");
  assert.equal((await fanOut.counts())[0]?.dropped, 0);
});

/** Kills the child after a random number of findings, while it sends them. */
async function publishedUntilKilled(dataDir: string, endpoint: string, published: Set<string>): Promise<void> {
  const child = spawn(process.execPath, [script, dataDir, endpoint], { stdio: ["ignore", "pipe", "inherit"] });
  if (child.pid) watchChild(child.pid);
  const exit = once(child, "exit");
  let left = 20 + Math.floor(Math.random() * 100);
  for await (const line of createInterface(child.stdout)) {
    const [, id = ""] = line.split(" ");
    published.add(id);
    left -= 1;
    if (left === 0) child.kill("SIGKILL");
  }
  const [, signal] = await exit;
  assert.equal(signal, "SIGKILL", "it ended before it was killed");
}
