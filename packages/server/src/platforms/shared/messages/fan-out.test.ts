import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { FindingsMessage } from "@lazaret/contract";
import { answering, callbackReceiver, silent } from "../../../../test/support/callback-receiver.ts";
import { temporaryFolder } from "../../../../test/support/leftovers.ts";
import { smtpReceiver } from "../../../../test/support/smtp-receiver.ts";
import { type TriedFanOut, tryFanOut } from "../../../../test/support/try-fan-out.ts";
import { until } from "../../../../test/support/until.ts";
import type { BusEvent } from "../../../deliver/event-bus.ts";
import { attributesOf } from "../../../deliver/findings-topic.ts";
import type { LogFields } from "../../../log.ts";

const DAY_MS = 86_400_000;
const patient = { limitMs: 60_000 };

function finding(key: string, parts: Partial<FindingsMessage> = {}): FindingsMessage {
  return { bucket: "uploads", key, size: 4096, status: "infected", action: "tag", finding: "Win.Test", ...parts };
}

function publish({ topic }: TriedFanOut, id: string, message = finding(id)): Promise<void> {
  return topic.publish({ id, message, attributes: attributesOf(message), body: "json" });
}

async function publishMany(fanOut: TriedFanOut, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `m-${index}`);
  await Promise.all(ids.map((id) => publish(fanOut, id)));
  return ids;
}

function event(id: string, type: BusEvent["detail-type"]): BusEvent {
  const envelope = { version: "0", id, source: "com.scanner", account: "1", time: "t", region: "local" } as const;
  if (type === "Scan Result") return { ...envelope, "detail-type": type, resources: [], detail: finding(id) };
  const detail = { download_url: "https://files.example.com/", callback_url: "", status: "clean" } as const;
  return { ...envelope, "detail-type": type, resources: [], detail };
}

function linesOf(path: string): unknown[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** What was posted, by the ids in the headers. */
function idsAt(receiver: { requests: readonly { values(name: string): string[] }[] }): string[] {
  return receiver.requests.flatMap((request) => request.values("x-message-id"));
}

async function waitingFor(fanOut: TriedFanOut): Promise<number[]> {
  return (await fanOut.counts()).map(({ waiting }) => waiting);
}

// spec: event-1, event-3
test("each subscriber gets the findings that its filter policy lets pass, in its own way", async () => {
  using folder = temporaryFolder();
  await using receiver = await callbackReceiver(answering(200));
  await using mailbox = await smtpReceiver();
  await using fanOut = await tryFanOut(folder.path, {
    subscriptions: [
      { protocol: "http", endpoint: `${receiver.origin}/findings`, filterPolicy: { key: [{ prefix: "##/" }] } },
      { protocol: "email", endpoint: "soc@example.com", filterPolicy: { status: ["infected"] } },
      { protocol: "file", endpoint: "findings.jsonl" },
    ],
    mail: { smtpUrl: mailbox.url, from: "scan@example.com" },
  });
  const smile = finding("👾/x", { trace_id: "order-4711", custom_data: "\ud83d raw", realfiletype: "pdf" });
  const { finding: _, ...clean } = finding("a", { status: "clean", action: "no", version: "3" });
  await publish(fanOut, "m-1", smile);
  await publish(fanOut, "m-2", clean);
  await until("all is sent", async () => (await waitingFor(fanOut)).join() === "0,0,0", patient);

  const [request] = receiver.requests;
  assert.deepEqual(idsAt(receiver), ["m-1"]);
  assert.deepEqual(request?.values("x-topic"), ["prod-findings"]);
  assert.equal(request?.body.toString(), JSON.stringify(smile));
  assert.deepEqual(
    mailbox.mails.map(({ text, to }) => [text, to]),
    [["uploads/👾/x is infected, tag action executed\nfinding: Win.Test", ["soc@example.com"]]],
  );
  assert.deepEqual(
    new Set(linesOf(join(folder.path, "findings.jsonl")).map((line) => JSON.stringify(line))),
    new Set([smile, clean].map((message) => JSON.stringify({ ...message, time: "2026-01-01T00:00:00.000Z" }))),
  );
});

test("from an installation that knows no JSON everybody gets the words that emails have", async () => {
  using folder = temporaryFolder();
  await using receiver = await callbackReceiver(answering(200));
  await using mailbox = await smtpReceiver();
  await using fanOut = await tryFanOut(folder.path, {
    subscriptions: [
      { protocol: "http", endpoint: receiver.origin },
      { protocol: "email", endpoint: "soc@example.com" },
      { protocol: "file", endpoint: "findings.jsonl" },
    ],
    mail: { smtpUrl: mailbox.url, from: "scan@example.com" },
  });
  const message = finding("q3.pdf");
  await fanOut.topic.publish({ id: "m-1", message, attributes: attributesOf(message), body: "text" });
  await until("all is sent", async () => (await waitingFor(fanOut)).join() === "0,0,0", patient);
  const words = "uploads/q3.pdf is infected, tag action executed\nfinding: Win.Test";
  const [request] = receiver.requests;
  assert.deepEqual([request?.body.toString(), request?.values("content-type")], [words, ["text/plain; charset=utf-8"]]);
  assert.equal(mailbox.mails[0]?.text, words);
  assert.deepEqual(linesOf(join(folder.path, "findings.jsonl")), [words]);
});

test("each target gets the events that it wants, in their envelopes", async () => {
  using folder = temporaryFolder();
  await using receiver = await callbackReceiver(answering(200));
  await using fanOut = await tryFanOut(folder.path, {
    targets: [
      { protocol: "http", endpoint: receiver.origin, filter: { "detail-type": ["Download Scan Result"] } },
      { protocol: "file", endpoint: "events.jsonl" },
    ],
    subscriptions: [{ protocol: "file", endpoint: "findings.jsonl" }],
  });
  const events = [event("e-1", "Scan Result"), event("e-2", "Download Scan Result")];
  for (const each of events) await fanOut.eventBus.publish(each);
  await until("all is sent", async () => (await waitingFor(fanOut)).join() === "0,0,0", patient);
  assert.deepEqual(JSON.parse(receiver.requests[0]?.body.toString() ?? ""), events[1]);
  assert.deepEqual(idsAt(receiver), ["e-2"]);
  assert.deepEqual(receiver.requests[0]?.values("x-topic"), []);
  assert.deepEqual(new Set(linesOf(join(folder.path, "events.jsonl"))), new Set(events));
  assert.deepEqual(linesOf(join(folder.path, "findings.jsonl")), []);
});

test("a dead subscriber delays nobody, is left alone more and more, and gets everything when it is back", async () => {
  using folder = temporaryFolder();
  const clock = { now: Date.UTC(2026, 0, 1) };
  let dead = true;
  await using receiver = await callbackReceiver((socket, request) => {
    if (dead) socket.destroy();
    else answering(200)(socket, request);
  });
  await using fanOut = await tryFanOut(folder.path, {
    clock,
    subscriptions: [
      { protocol: "http", endpoint: receiver.origin },
      { protocol: "file", endpoint: "findings.jsonl" },
    ],
  });
  const ids = await publishMany(fanOut, 100);
  await until("the live one has all", async () => (await waitingFor(fanOut))[1] === 0, patient);
  const quiet = async (): Promise<boolean> => {
    const tries = fanOut.logged.filter(({ protocol }) => protocol === "http").length;
    return tries === receiver.requests.length && ((await fanOut.counts())[0]?.failedTries ?? 0) >= 8;
  };
  await until("the dead one was tried often enough", quiet, patient);
  // Eight failures, and what was under way when the last of them came. From then on the clock would have to move.
  assert.ok(receiver.requests.length <= 15, `${receiver.requests.length} tries`);
  assert.equal((await waitingFor(fanOut))[0], 100);

  dead = false;
  clock.now += 600_000;
  await until("it is back and has all", async () => (await waitingFor(fanOut))[0] === 0, patient);
  assert.deepEqual(new Set(idsAt(receiver)), new Set(ids));
  const [counts] = await fanOut.counts();
  assert.deepEqual([counts?.sent, counts?.dropped], [100, 0]);
});

test("nobody waits for a subscriber that never answers", async () => {
  using folder = temporaryFolder();
  await using receiver = await callbackReceiver(silent);
  await using fanOut = await tryFanOut(folder.path, {
    subscriptions: [
      { protocol: "http", endpoint: receiver.origin },
      { protocol: "file", endpoint: "findings.jsonl" },
    ],
  });
  await publishMany(fanOut, 50);
  await until("it is asked", () => receiver.requests.length >= 8, patient);
  await until("the other has all", async () => (await waitingFor(fanOut))[1] === 0, patient);
  assert.equal((await waitingFor(fanOut))[0], 50);
});

test("a subscriber that refuses one message gets all others", async () => {
  using folder = temporaryFolder();
  await using receiver = await callbackReceiver((socket, request) => {
    const refused = request.values("x-message-id").includes("m-3");
    answering(refused ? 400 : 200)(socket, request);
  });
  await using fanOut = await tryFanOut(folder.path, {
    subscriptions: [{ protocol: "http", endpoint: receiver.origin }],
  });
  const ids = await publishMany(fanOut, 60);
  await until("one is left", async () => (await waitingFor(fanOut))[0] === 1, patient);
  assert.deepEqual(new Set(idsAt(receiver)), new Set(ids));
});

test("what is published without sending is sent by another process, and two that send share the work", async () => {
  using folder = temporaryFolder();
  await using receiver = await callbackReceiver(answering(200));
  const subscriptions = [{ protocol: "http", endpoint: receiver.origin }];
  await using publisher = await tryFanOut(folder.path, { subscriptions, publishOnly: true });
  const ids = await publishMany(publisher, 200);
  assert.equal(receiver.connections, 0);
  await using first = await tryFanOut(folder.path, { subscriptions });
  await using second = await tryFanOut(folder.path, { subscriptions });
  await until("all is sent", () => first.logged.length + second.logged.length === 200, patient);
  assert.deepEqual(idsAt(receiver).toSorted(), ids.toSorted(), "each once");
  assert.deepEqual(await waitingFor(publisher), [0]);
});

test("a finding published again before it is sent is sent once", async () => {
  using folder = temporaryFolder();
  const targets = [{ protocol: "file", endpoint: "events.jsonl" }];
  await using publisher = await tryFanOut(folder.path, { targets, publishOnly: true });
  for (let times = 0; times < 3; times += 1) await publisher.eventBus.publish(event("e-1", "Scan Result"));
  await using fanOut = await tryFanOut(folder.path, { targets });
  await until("all is sent", async () => (await waitingFor(fanOut))[0] === 0, patient);
  assert.equal(linesOf(join(folder.path, "events.jsonl")).length, 1);
});

test("what waited for three days is dropped, counted and reported, also for whom nobody sends to any more", async () => {
  using folder = temporaryFolder();
  const clock = { now: Date.UTC(2026, 0, 1) };
  await using receiver = await callbackReceiver(answering(503));
  const dead = { protocol: "http", endpoint: receiver.origin };
  const removed = { protocol: "file", endpoint: "removed.jsonl" };
  {
    await using publisher = await tryFanOut(folder.path, {
      clock,
      subscriptions: [dead, removed],
      publishOnly: true,
    });
    await publishMany(publisher, 5);
  }
  await using fanOut = await tryFanOut(folder.path, { clock, subscriptions: [dead] });
  await until("it was tried", async () => ((await fanOut.counts())[0]?.failedTries ?? 0) >= 5, patient);
  assert.deepEqual(await waitingFor(fanOut), [5, 5]);
  clock.now += 3 * DAY_MS + 1;
  await until("all is dropped", async () => (await waitingFor(fanOut)).join() === "0,0", patient);
  const [first, second] = await fanOut.counts();
  assert.deepEqual([first?.dropped, first?.sent, second?.dropped, second?.configured], [5, 0, 5, undefined]);
  const told = (): LogFields[] => fanOut.logged.filter(({ event: what }) => what === "messages_dropped");
  await until("both are told", () => told().length === 2, patient);
  assert.deepEqual(
    new Set(told().map(({ level, endpoint, messages }) => [level, endpoint, messages].join(" "))),
    new Set([`error ${receiver.origin}/ 5`, "error  5"]),
  );
});

test("a subscriber with too much waiting loses the oldest, which is counted", async () => {
  using folder = temporaryFolder();
  await using fanOut = await tryFanOut(folder.path, {
    subscriptions: [{ protocol: "file", endpoint: "findings.jsonl" }],
    publishOnly: true,
    limits: { maxWaiting: 10 },
  });
  await publishMany(fanOut, 25);
  const [counts] = await fanOut.counts();
  assert.deepEqual([counts?.waiting, counts?.dropped], [10, 15]);
  assert.deepEqual(counts?.configured, { of: "topic", protocol: "file", endpoint: "findings.jsonl" });
});

test("stopping lets what is under way finish, and puts back what does not", async () => {
  using folder = temporaryFolder();
  let answer = silent;
  await using receiver = await callbackReceiver((socket, request) => answer(socket, request));
  const subscriptions = [{ protocol: "http", endpoint: receiver.origin }];
  {
    await using fanOut = await tryFanOut(folder.path, { subscriptions });
    await publish(fanOut, "m-1");
    await until("it is asked", () => receiver.requests.length === 1, patient);
    await fanOut.stop(0);
    assert.deepEqual(
      fanOut.logged.map(({ outcome }) => outcome),
      ["untried"],
    );
    const [counts] = await fanOut.counts();
    assert.deepEqual([counts?.waiting, counts?.failedTries], [1, 0]);
    await publish(fanOut, "m-2");
  }
  answer = (socket, request) => void setImmediate(() => answering(200)(socket, request));
  await using fanOut = await tryFanOut(folder.path, { subscriptions });
  await until("both are asked", () => receiver.requests.length === 3, patient);
  await fanOut.stop(60_000);
  assert.deepEqual(await waitingFor(fanOut), [0]);
});

test("one line is logged for each try, with neither query, credentials nor content", async () => {
  using folder = temporaryFolder();
  await using receiver = await callbackReceiver(answering(503));
  const endpoint = `${receiver.origin.replace("//", "//user:canary@")}/findings?token=canary`;
  await using fanOut = await tryFanOut(folder.path, { subscriptions: [{ protocol: "http", endpoint }] });
  await publish(fanOut, "m-1", finding("canary", { custom_data: "canary", bucket: "canary" }));
  await until("it is logged", () => fanOut.logged.length > 0, patient);
  const [line] = fanOut.logged;
  const { ms, receiver: id, ...fields } = line ?? {};
  assert.deepEqual(fields, {
    level: "info",
    event: "message",
    message_id: "m-1",
    protocol: "http",
    endpoint: `${receiver.origin}/findings`,
    attempt: 1,
    outcome: "failed",
    status: 503,
    code: "HTTP_503",
    again_seconds: 5,
    error: undefined,
  });
  assert.match(String(id), /^[0-9a-f]{16}$/);
  assert.equal(typeof ms, "number");
  assert.doesNotMatch(JSON.stringify(fanOut.logged), /canary/);
});

test("an email subscription without a mail server is refused at the start", async () => {
  using folder = temporaryFolder();
  const subscriptions = [{ protocol: "email", endpoint: "soc@example.com" }];
  await assert.rejects(
    tryFanOut(folder.path, { subscriptions }),
    /cannot send email to soc@example.com: there is no mail server/,
  );
});
