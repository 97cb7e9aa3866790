import assert from "node:assert/strict";
import { test } from "node:test";
import type { FindingsMessage } from "@lazaret/contract";
import "../../../../test/support/leftovers.ts";
import { rawServer } from "../../../../test/support/loopback-server.ts";
import { selfSigned } from "../../../../test/support/self-signed.ts";
import { type SmtpReceiver, smtpReceiver } from "../../../../test/support/smtp-receiver.ts";
import { until } from "../../../../test/support/until.ts";
import { emailText } from "../finding-text.ts";
import { type EmailSenderOptions, emailSender } from "./email-sender.ts";
import type { Posted } from "./sender.ts";

const never = new AbortController().signal;
const message: FindingsMessage = {
  bucket: "uploads",
  key: "invoices/q3.pdf",
  version: "3",
  size: 4096,
  status: "infected",
  action: "tag",
  finding: "Win.Test",
};

function posted(id: string, parts: Partial<FindingsMessage> = {}): Posted {
  return { message: { id, receiver: "r", body: JSON.stringify({ ...message, ...parts }) }, failures: 0 };
}

function senderTo(smtpUrl: string, options: Partial<EmailSenderOptions> = {}) {
  const sender = emailSender({ smtpUrl, from: "Lazaret <scan@example.com>", to: "soc@example.com", ...options });
  return { ...sender, [Symbol.asyncDispose]: sender.close };
}

function last({ mails }: SmtpReceiver) {
  const mail = mails.at(-1);
  assert.ok(mail);
  return mail;
}

// spec: event-2
test("an email says in one line what was found where, and in another what it is", async () => {
  await using receiver = await smtpReceiver();
  await using sender = senderTo(receiver.url);
  assert.deepEqual(await sender.send(posted("0b5c-1"), never), { kind: "sent" });
  const mail = last(receiver);
  assert.equal(mail.text, "uploads/invoices/q3.pdf 3 is infected, tag action executed\nfinding: Win.Test");
  assert.deepEqual([mail.from, mail.to], ["scan@example.com", ["soc@example.com"]]);
  assert.deepEqual(
    ["From", "To", "Subject", "Message-ID", "Auto-Submitted"].map((name) => mail.values(name)),
    [
      ["Lazaret <scan@example.com>"],
      ["soc@example.com"],
      ["infected: uploads/invoices/q3.pdf"],
      ["<0b5c-1@example.com>"],
      ["auto-generated"],
    ],
  );
});

test("the same message has the same Message-ID again, also when its id is fit for no header", async () => {
  await using receiver = await smtpReceiver();
  await using sender = senderTo(receiver.url, { from: "scan@example.com" });
  for (const id of ["m-1", "m-1", "x>\r\nBcc: y", "x>\r\nBcc: y"]) await sender.send(posted(id), never);
  const [first, second, third, fourth] = receiver.mails.map((mail) => mail.values("message-id").join());
  assert.equal(first, "<m-1@example.com>");
  assert.equal(second, first);
  assert.match(third ?? "", /^<[0-9a-f]{64}@example\.com>$/);
  assert.equal(fourth, third);
});

test("no key can add a header, a recipient or a line", async () => {
  await using receiver = await smtpReceiver();
  await using sender = senderTo(receiver.url);
  const keys = [
    "a\r\nBcc: evil@example.com\r\nX-Evil: 1\r\n\r\nfinding: none",
    "a\nBcc: evil@example.com",
    "a\rBcc: evil@example.com",
    "a\r\n.\r\nMAIL FROM:<evil@example.com>",
    "a\0b\u2028c\u0085d",
    `${"long ".repeat(60)}\r\nBcc: evil@example.com`,
    "=?utf-8?Q?=0D=0ABcc:_evil@example.com?=",
  ];
  for (const [at, key] of keys.entries()) {
    const parts = { key, finding: key, version: key, bucket: key };
    assert.equal((await sender.send(posted(`m-${at}`, parts), never)).kind, "sent");
    const mail = last(receiver);
    assert.equal(mail.text, emailText({ ...message, ...parts }));
    assert.deepEqual(mail.to, ["soc@example.com"]);
    const names = mail.source
      .slice(0, mail.source.indexOf("\r\n\r\n"))
      .split("\r\n")
      .flatMap((line) => /^([\w-]+):/.exec(line)?.[1]?.toLowerCase() ?? []);
    assert.deepEqual(new Set(names), new Set(usualHeaders));
    assert.equal(names.length, usualHeaders.length);
  }
  assert.equal(receiver.mails.length, keys.length);
});

const usualHeaders = [
  "from",
  "to",
  "subject",
  "message-id",
  "auto-submitted",
  "date",
  "mime-version",
  "content-type",
  "content-transfer-encoding",
];

test("emails share two connections at most, which are closed with the sender", async () => {
  await using receiver = await smtpReceiver();
  const sender = senderTo(receiver.url);
  for (const id of ["1", "2", "3", "4", "5", "6"]) await sender.send(posted(id), never);
  assert.ok(receiver.connections <= 2);
  await sender.close();
  await until("the connections are closed", () => receiver.openConnections === 0);
  await sender.send(posted("7"), never);
  assert.equal(receiver.mails.length, 7, "it can be used again");
  await sender.close();
});

test("a connection that the server closed meanwhile is made anew", async () => {
  await using receiver = await smtpReceiver();
  await using sender = senderTo(receiver.url);
  await sender.send(posted("1"), never);
  receiver.hangUp();
  await until("it is closed", () => receiver.openConnections === 0);
  assert.equal((await sender.send(posted("2"), never)).kind, "sent");
});

test("user and password of the address are used", async () => {
  await using receiver = await smtpReceiver({ login: { user: "scan", password: "p@ss" } });
  await using known = senderTo(receiver.url.replace("//", "//scan:p%40ss@"));
  await using unknown = senderTo(receiver.url.replace("//", "//scan:wrong@"));
  assert.equal((await known.send(posted("1"), never)).kind, "sent");
  assert.deepEqual(await unknown.send(posted("2"), never), { kind: "failed", code: "EAUTH" });
});

test("smtps is checked against the usual authorities, unless the address says otherwise", async () => {
  await using receiver = await smtpReceiver({ identity: selfSigned("IP:127.0.0.1") });
  await using trusting = senderTo(`${receiver.url}?tls.rejectUnauthorized=false`);
  await using usual = senderTo(receiver.url);
  assert.equal((await trusting.send(posted("1"), never)).kind, "sent");
  assert.equal((await usual.send(posted("2"), never)).kind, "failed");
  assert.equal(receiver.mails.length, 1);
});

test("a mail that the server refuses fails alone", async () => {
  const refusal = Object.assign(new Error("no such user"), { responseCode: 550 });
  await using receiver = await smtpReceiver({
    refuse: (mail) => (mail.values("message-id").join().includes("bad") ? refusal : undefined),
  });
  await using sender = senderTo(receiver.url);
  const outcomes = await Promise.all(["1", "bad", "2"].map((id) => sender.send(posted(id), never)));
  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ["sent", "failed", "sent"],
  );
});

test("a mail server that says nothing fails when the time is up, or when it is given up", async () => {
  await using server = await rawServer(() => {});
  await using sender = senderTo(`smtp://127.0.0.1:${server.port}`, { timeoutMs: 50 });
  assert.deepEqual(await sender.send(posted("1"), never), { kind: "failed", code: "ETIMEDOUT" });
  await using patient = senderTo(`smtp://127.0.0.1:${server.port}`);
  const giveUp = new AbortController();
  const before = server.connections;
  const sent = patient.send(posted("2"), giveUp.signal);
  await until("it is asked", () => server.connections > before);
  giveUp.abort();
  assert.equal((await sent).kind, "failed");
});

test("a mail server that hangs up fails", async () => {
  await using server = await rawServer((socket) => socket.destroy());
  await using sender = senderTo(`smtps://127.0.0.1:${server.port}`);
  assert.equal((await sender.send(posted("1"), never)).kind, "failed");
});
