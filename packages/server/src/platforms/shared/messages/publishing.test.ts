import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { FindingsMessage } from "@lazaret/contract";
import { answering, callbackReceiver } from "../../../../test/support/callback-receiver.ts";
import { temporaryFolder } from "../../../../test/support/leftovers.ts";
import { type TriedFanOut, tryFanOut } from "../../../../test/support/try-fan-out.ts";
import { until } from "../../../../test/support/until.ts";
import { attributesOf } from "../../../deliver/findings-topic.ts";
import { sendingFindings } from "./publishing.ts";
import type { Posted } from "./sender.ts";

const message: FindingsMessage = {
  bucket: "uploads",
  key: "invoices/100 % ü 👾\r\n.pdf",
  version: "3",
  size: 4096,
  status: "infected",
  action: "tag",
  finding: "Win.Test",
  trace_id: "order \ud83d 4711",
  custom_data: "anything",
  realfiletype: "pdf",
};

const attributes = {
  bucket: "uploads",
  key: "invoices/100 % ü ##\r\n.pdf",
  version: "3",
  size: "4096",
  status: "infected",
  action: "tag",
  finding: "Win.Test",
  trace_id: "order # 4711",
};

async function publish(fanOut: TriedFanOut, body: "json" | "text" = "json"): Promise<void> {
  await fanOut.topic.publish({ id: "m-1", message, attributes: attributesOf(message), body });
  await until("all is sent", async () => (await fanOut.counts()).every(({ waiting }) => waiting === 0), {
    limitMs: 60_000,
  });
}

/** `X-Attribute-…` headers by the names of the attributes, decoded. */
function attributesIn(request: { values(name: string): string[] } | undefined): object {
  return Object.fromEntries(
    [...Object.keys(attributes), "custom_data", "realfiletype"].flatMap((name) => {
      const values = request?.values(`x-attribute-${name.replace("_", "-")}`) ?? [];
      return values.map((value) => [name, decodeURIComponent(value)]);
    }),
  );
}

for (const body of ["json", "text"] as const) {
  test(`a finding sent as ${body} by http has every attribute in a header, surrogates as #`, async () => {
    using folder = temporaryFolder();
    await using receiver = await callbackReceiver(answering(200));
    await using fanOut = await tryFanOut(folder.path, {
      subscriptions: [{ protocol: "http", endpoint: receiver.origin }],
    });
    await publish(fanOut, body);
    assert.deepEqual(attributesIn(receiver.requests[0]), attributes);
    if (body === "json") assert.equal(receiver.requests[0]?.body.toString(), JSON.stringify(message));
  });
}

test("a finding without version, finding and trace_id has no headers for them", async () => {
  using folder = temporaryFolder();
  await using receiver = await callbackReceiver(answering(200));
  await using fanOut = await tryFanOut(folder.path, {
    subscriptions: [{ protocol: "http", endpoint: receiver.origin }],
  });
  const clean = { bucket: "b", key: "k", size: 0, status: "clean", action: "no" } as const;
  await fanOut.topic.publish({ id: "m-2", message: clean, attributes: attributesOf(clean), body: "json" });
  await until("it is sent", () => receiver.requests.length > 0);
  assert.deepEqual(attributesIn(receiver.requests[0]), { ...clean, size: "0" });
});

test("a message that an older version left in the outbox is sent as it is", async () => {
  const sent: Posted[] = [];
  const sender = sendingFindings({
    atOnce: 1,
    async send(posted) {
      sent.push(posted);
      return { kind: "sent" };
    },
    close: async () => {},
  });
  const old = [JSON.stringify(message), JSON.stringify("words of an old installation")];
  for (const body of old) {
    await sender.send({ message: { id: "m", receiver: "r", body }, failures: 0 }, AbortSignal.timeout(60_000));
  }
  assert.deepEqual(
    sent.map((posted) => [posted.message.body, posted.attributes]),
    old.map((body) => [body, undefined]),
  );
});

test("events have no attributes", async () => {
  using folder = temporaryFolder();
  await using receiver = await callbackReceiver(answering(200));
  await using fanOut = await tryFanOut(folder.path, { targets: [{ protocol: "http", endpoint: receiver.origin }] });
  await fanOut.eventBus.publish({
    version: "0",
    id: "e-1",
    "detail-type": "Scan Result",
    source: "com.scanner",
    account: "1",
    time: "t",
    region: "local",
    resources: [],
    detail: message,
  });
  await until("it is sent", () => receiver.requests.length > 0);
  assert.deepEqual(attributesIn(receiver.requests[0]), {});
});

// spec: event-4
test("with format envelope http and file get the finding and its attributes as SNS writes them", async () => {
  using folder = temporaryFolder();
  await using receiver = await callbackReceiver(answering(200));
  await using fanOut = await tryFanOut(folder.path, {
    clock: { now: Date.UTC(2026, 0, 1) },
    subscriptions: [
      { protocol: "http", endpoint: receiver.origin, format: "envelope" },
      { protocol: "file", endpoint: "findings.jsonl", format: "envelope" },
      { protocol: "file", endpoint: "plain.jsonl", format: "message" },
    ],
  });
  await publish(fanOut);
  const typed = Object.entries(attributes).map(([name, value]) => {
    return [name, { Type: name === "size" ? "Number" : "String", Value: value }];
  });
  const expected = {
    Type: "Notification",
    MessageId: "m-1",
    TopicArn: "arn:aws:sns:local:000000000000:prod-findings",
    Subject: "infected: uploads/invoices/100 % ü 👾\\u000d\\u000a.pdf",
    Message: JSON.stringify(message),
    Timestamp: "2026-01-01T00:00:00.000Z",
    MessageAttributes: Object.fromEntries(typed),
  };
  assert.deepEqual(JSON.parse(receiver.requests[0]?.body.toString() ?? ""), expected);
  assert.deepEqual(attributesIn(receiver.requests[0]), attributes);
  const line = (name: string): unknown => JSON.parse(readFileSync(join(folder.path, name), "utf8"));
  assert.deepEqual(line("findings.jsonl"), expected);
  // Whoever reads a plain line later has nothing else to tell when it was.
  assert.deepEqual(line("plain.jsonl"), { ...message, time: "2026-01-01T00:00:00.000Z" });
});
