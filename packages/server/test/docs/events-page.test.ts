import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { FindingsMessage } from "@lazaret/contract";
import type { BusEvent } from "../../src/deliver/event-bus.ts";
import { attributesOf } from "../../src/deliver/findings-topic.ts";
import { parseFilterPolicy } from "../../src/platforms/shared/messages/filter-policy.ts";
import { parseEventTargets, parseSubscriptions } from "../../src/platforms/shared/messages/subscriptions.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { smtpReceiver } from "../support/smtp-receiver.ts";
import { tryFanOut } from "../support/try-fan-out.ts";
import { until } from "../support/until.ts";

const page = readFileSync(fileURLToPath(new URL("../../../../docs/events.md", import.meta.url)), "utf8");

/** The block that is marked so, without its indentation. */
function block(mark: string): string {
  const found = new RegExp(`^( *)\`\`\`${mark}\n([\\s\\S]*?)\`\`\``, "m").exec(page);
  assert.ok(found, `docs/events.md shows no ${mark}`);
  const [, indent = "", text = ""] = found;
  return text.replaceAll(new RegExp(`^${indent}`, "gm"), "").trim();
}

test("the settings and filter policies of docs/events.md are right", () => {
  assert.ok("value" in parseSubscriptions(block("json").replace("…", "t")));
  assert.ok("value" in parseEventTargets(block("json targets")));
  assert.ok("value" in parseFilterPolicy(JSON.parse(block("json policy"))));
  const conditions = [...page.matchAll(/^\| (`.*?`) \| /gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => JSON.parse(text)),
  );
  assert.ok(conditions.length >= 10, `only ${conditions.length} conditions`);
  for (const condition of conditions) {
    const name = typeof condition === "number" || "numeric" in Object(condition) ? "size" : "key";
    assert.deepEqual(Object.keys(parseFilterPolicy({ [name]: [condition] })), ["value"], JSON.stringify(condition));
  }
});

test("finding, email and event are sent as docs/events.md shows them", async () => {
  using folder = temporaryFolder();
  await using receiver = await callbackReceiver(answering(200));
  await using mailbox = await smtpReceiver();
  await using fanOut = await tryFanOut(folder.path, {
    subscriptions: [
      { protocol: "http", endpoint: receiver.origin },
      { protocol: "email", endpoint: "soc@example.com" },
      { protocol: "file", endpoint: "findings.jsonl", format: "envelope" },
    ],
    targets: [{ protocol: "file", endpoint: "events.jsonl" }],
    mail: { smtpUrl: mailbox.url, from: "scan@example.com" },
  });
  const message: FindingsMessage = JSON.parse(block("json finding"));
  const event: BusEvent = JSON.parse(block("json event"));
  await fanOut.topic.publish({ id: "m-1", message, attributes: attributesOf(message), body: "json" });
  await fanOut.eventBus.publish(event);
  const left = async (): Promise<number[]> => (await fanOut.counts()).map(({ waiting }) => waiting);
  await until("all is sent", async () => (await left()).join() === "0,0,0,0", { limitMs: 60_000 });
  assert.equal(receiver.requests[0]?.body.toString(), block("json finding"));
  assert.deepEqual(receiver.requests[0]?.values("x-attribute-trace-id"), ["order-4711"]);
  assert.equal(readFileSync(join(folder.path, "findings.jsonl"), "utf8"), `${block("json envelope")}\n`);
  assert.equal(mailbox.mails[0]?.text, block("text email"));
  assert.equal(readFileSync(join(folder.path, "events.jsonl"), "utf8"), `${block("json event")}\n`);
});
