import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { describe, it } from "node:test";
import { signatureVectorKeys } from "@lazaret/contract/signature-vectors";
import fc from "fast-check";
import {
  answering,
  callbackReceiver,
  inTurn,
  type ReceivedCallback,
  silent,
} from "../../test/support/callback-receiver.ts";
import "../../test/support/leftovers.ts";
import { selfSigned } from "../../test/support/self-signed.ts";
import { cleanReport, jobFor, trySender } from "../../test/support/try-callback.ts";
import { until } from "../../test/support/until.ts";
import { afterFailedCallback } from "../pipeline/retry-policy.ts";
import { attemptNumber, retryWaitMs } from "./callback.ts";
import { callbackSigner } from "./signature.ts";
import { signingKeyPair } from "./signing-keys.ts";

const never = new AbortController().signal;
const { privateKey } = signingKeyPair(signatureVectorKeys.testOnlyPrivatePem);
const publicKey = createPublicKey(signatureVectorKeys.publicPemX509);

/** As a receiver would: over the raw bytes and the headers it got, and the URL it knows. */
function isSigned(request: ReceivedCallback, url: string): boolean {
  const [timestamp] = request.values("X-Timestamp");
  const [signature = ""] = request.values("X-Signature");
  const signed = Buffer.concat([Buffer.from(`${timestamp}.${url}.`), request.body]);
  return verify("sha256", signed, publicKey, Buffer.from(signature, "hex"));
}

describe("a callback", () => {
  it("is one POST of the payload when the receiver answers 2xx", async () => {
    for (const status of [200, 201, 204, 299]) {
      await using receiver = await callbackReceiver(answering(status));
      await using sender = trySender();
      const job = jobFor(`${receiver.origin}/scanned?tenant=7&a=%2F#part`, { Authorization: "Bearer t" });
      assert.deepEqual(await sender.send(job, cleanReport, never), { delivered: true });

      const [request] = receiver.requests;
      assert.ok(request && receiver.requests.length === 1);
      assert.equal(request.requestLine, "POST /scanned?tenant=7&a=%2F HTTP/1.1");
      assert.deepEqual(JSON.parse(request.body.toString("utf8")), {
        status: "clean",
        size: 4096,
        download_time: "0.214",
        scan_time: "1.030",
        download_url: "https://files.example.com/report.pdf?token=t",
        trace_id: "order-4711",
      });
      const headers = Object.fromEntries(request.headers.map(([name, value]) => [name.toLowerCase(), value]));
      assert.deepEqual(headers, {
        host: receiver.origin.slice("http://".length),
        connection: "keep-alive",
        accept: "*/*",
        "user-agent": "lazaret/1.2.3",
        authorization: "Bearer t",
        "content-type": "application/json",
        "content-length": String(request.body.length),
        "x-delivery-id": "5c0f3a52-job",
        "x-delivery-attempt": "1",
      });
      assert.equal(request.headers.length, Object.keys(headers).length);
    }
  });

  it("brings custom_data unchanged: emoji, lone surrogates, NUL and quotes", async () => {
    await using receiver = await callbackReceiver(answering(204));
    await using sender = trySender();
    const customData = '😀 \ud83d \ude00 \0 "quoted" \\ \u2028 é';
    await sender.send(jobFor(receiver.origin, {}, { customData }), cleanReport, never);
    assert.equal(JSON.parse(receiver.requests[0]?.body.toString("utf8") ?? "").custom_data, customData);
  });

  it("never carries what a client forged, and no header twice", async () => {
    await using receiver = await callbackReceiver(answering(200));
    await using sender = trySender({ sign: callbackSigner(privateKey) });
    const forged = {
      "x-signature": "forged",
      "X-TIMESTAMP": "forged",
      "x-delivery-ID": "forged",
      "X-Delivery-Attempt": "99",
      "content-type": "text/plain",
      "Content-length": "1",
      "Content-Encoding": "gzip",
      HOST: "forged.test",
      "Transfer-Encoding": "chunked",
      Connection: "close",
      Expect: "100-continue",
      "X-Tenant": "7",
    };
    const job = jobFor(receiver.origin, forged);
    assert.deepEqual(await sender.send(job, cleanReport, never), { delivered: true });
    const [request] = receiver.requests;
    assert.ok(request);
    assert.doesNotMatch(request.bytes.toString("latin1"), /forged|chunked|text\/plain|gzip|100-continue/);
    assert.deepEqual(request.values("X-Tenant"), ["7"]);
    assert.deepEqual(request.values("X-Delivery-Attempt"), ["1"]);
    const names = request.headers.map(([name]) => name.toLowerCase());
    assert.equal(new Set(names).size, names.length);
    assert.ok(isSigned(request, receiver.origin));
  });

  it("goes over TLS to a receiver with a certificate somebody vouches for, and to no other", async () => {
    const identity = selfSigned("IP:127.0.0.1");
    await using receiver = await callbackReceiver(answering(200), { identity });
    await using sender = trySender({ ca: identity.cert, sign: callbackSigner(privateKey) });
    const url = `${receiver.origin}/a/../b`;
    assert.deepEqual(await sender.send(jobFor(url), cleanReport, never), { delivered: true });
    assert.ok(receiver.requests[0] && isSigned(receiver.requests[0], url));

    await using distrusting = trySender({ sign: callbackSigner(privateKey) });
    const refused = await distrusting.send(jobFor(url), cleanReport, never);
    assert.ok(!refused.delivered);
    assert.equal(refused.failure.code, "DEPTH_ZERO_SELF_SIGNED_CERT");
    assert.equal(receiver.requests.length, 1);

    const other = selfSigned("IP:127.0.0.2");
    await using wrong = await callbackReceiver(answering(200), { identity: other });
    await using mistaken = trySender({ ca: other.cert });
    const mismatch = await mistaken.send(jobFor(wrong.origin), cleanReport, never);
    assert.equal(mismatch.delivered || mismatch.failure.code, "ERR_TLS_CERT_ALTNAME_INVALID");
    assert.equal(wrong.connections, 6);
  });

  it("is logged in one line for each POST, without the query and without header values", async () => {
    await using receiver = await callbackReceiver(inTurn(answering(503), answering(200)));
    await using sender = trySender({ sign: callbackSigner(privateKey) });
    const job = jobFor(`${receiver.origin}/scanned?token=canary#canary`, { Authorization: "canary" });
    await sender.send(job, cleanReport, never);
    const whose = { tenant: "default", key: "key-1" };
    const of = { job_id: job.id, trace_id: "order-4711", ...whose };
    const line = { event: "callback", ...of, url: `${receiver.origin}/scanned` };
    const times = { waited_ms: 0, ms: 0 };
    assert.deepEqual(sender.logged, [
      { ...line, attempt: 1, delivered: false, status: 503, code: "HTTP_503", ...times },
      { ...line, attempt: 2, delivered: true, status: 200, code: undefined, ...times },
    ]);
  });
});

describe("a callback that is refused", () => {
  it("is POSTed six times in an invocation, with waits of 0.25, 0.5, 1, 2 and 4 seconds", async () => {
    await using receiver = await callbackReceiver(answering(500));
    await using sender = trySender();
    const delivery = await sender.send(jobFor(receiver.origin), cleanReport, never);
    assert.deepEqual(delivery, {
      delivered: false,
      failure: {
        code: "HTTP_500",
        message: "cannot call back: the receiver answered 500",
        statusCode: 500,
        attempts: 6,
        lastAttemptAt: 1_767_225_600_000 + 7_750,
      },
    });
    assert.equal(receiver.requests.length, 6);
    assert.deepEqual(sender.clock.slept, [250, 500, 1000, 2000, 4000]);
  });

  it("is signed anew each time, with a new timestamp and over the same body", async () => {
    await using receiver = await callbackReceiver(answering(500));
    await using sender = trySender({ sign: callbackSigner(privateKey) });
    const url = `${receiver.origin}/a?b=c`;
    await sender.send(jobFor(url), cleanReport, never);
    const { requests } = receiver;
    assert.deepEqual(
      requests.map((request) => Number(request.values("X-Timestamp")[0]) - 1_767_225_600_000),
      [0, 250, 750, 1750, 3750, 7750],
    );
    assert.ok(requests.every((request) => isSigned(request, url)));
    assert.ok(requests.every((request) => !isSigned(request, `${receiver.origin}/a`)));
    assert.equal(new Set(requests.map(({ body }) => body.toString("latin1"))).size, 1);
    assert.ok(requests.every((request) => /^[0-9a-f]{768}$/.test(request.values("X-Signature")[0] ?? "")));
  });

  it("is delivered by the retry that is answered with 2xx, and then no more", async () => {
    await using receiver = await callbackReceiver(inTurn(answering(500), answering(404), answering(204)));
    await using sender = trySender();
    assert.deepEqual(await sender.send(jobFor(receiver.origin), cleanReport, never), { delivered: true });
    assert.equal(receiver.requests.length, 3);
    assert.deepEqual(sender.clock.slept, [250, 500]);
  });

  for (const reportEventBus of [true, false]) {
    const end = reportEventBus ? "event" : "buried";
    it(`for ever gets exactly 24 POSTs, 5, 10 and 15 seconds between the invocations, then: ${end}`, async () => {
      await using receiver = await callbackReceiver(answering(503));
      await using sender = trySender();
      let job = jobFor(receiver.origin);
      const gaps: number[] = [];
      for (;;) {
        const delivery = await sender.send(job, job.report, never);
        assert.ok(!delivery.delivered);
        const next = afterFailedCallback(job, delivery.failure, { reportEventBus });
        if (next.kind !== "again") {
          assert.equal(next.kind, end);
          assert.equal(delivery.failure.attempts, 24);
          break;
        }
        gaps.push(next.afterSeconds);
        await sender.clock.sleep(next.afterSeconds * 1000, never);
        assert.ok(next.job.report);
        job = { ...next.job, report: next.job.report };
      }
      assert.deepEqual(gaps, [5, 10, 15]);
      assert.equal(receiver.requests.length, 24);
      assert.deepEqual(
        receiver.requests.map((request) => Number(request.values("X-Delivery-Attempt")[0])),
        Array.from({ length: 24 }, (_, index) => index + 1),
      );
      assert.deepEqual([...new Set(receiver.requests.flatMap((request) => request.values("X-Delivery-Id")))], [job.id]);
    });
  }

  it("counts a destination that the address guard refuses like any other, and never dials it", async () => {
    await using receiver = await callbackReceiver(answering(200));
    await using sender = trySender({ allowNetworks: [] });
    const delivery = await sender.send(jobFor(receiver.origin), cleanReport, never);
    assert.ok(!delivery.delivered);
    assert.equal(delivery.failure.code, "blocked_destination");
    assert.doesNotMatch(delivery.failure.message, /127\.0\.0\.1/);
    assert.deepEqual([delivery.failure.attempts, sender.logged.length, receiver.connections], [6, 6, 0]);
  });

  it("tells Node's code when nobody listens", async () => {
    const receiver = await callbackReceiver(answering(200));
    await receiver[Symbol.asyncDispose]();
    await using sender = trySender();
    const delivery = await sender.send(jobFor(receiver.origin), cleanReport, never);
    assert.equal(delivery.delivered || delivery.failure.code, "ECONNREFUSED");
  });
});

describe("a callback that is given up", () => {
  const reason = new Error("the worker stops");

  it("in mid-POST throws the signal's reason and hangs up", async () => {
    await using receiver = await callbackReceiver(silent);
    await using sender = trySender();
    const stop = new AbortController();
    const sending = sender.send(jobFor(receiver.origin), cleanReport, stop.signal);
    await until("the POST has arrived", () => receiver.requests.length === 1);
    stop.abort(reason);
    await assert.rejects(sending, (error) => error === reason);
    await until("the connection is closed", () => receiver.openConnections === 0);
    assert.deepEqual(
      sender.logged.map(({ code }) => code),
      ["aborted"],
    );
  });

  it("between two tries throws the signal's reason, however long the wait would have been", async () => {
    await using receiver = await callbackReceiver(answering(500));
    const stop = new AbortController();
    const hours = 1e6;
    await using sender = trySender({
      realSleep: true,
      random: () => hours,
      log: () => void setImmediate(() => stop.abort(reason)),
    });
    await assert.rejects(sender.send(jobFor(receiver.origin), cleanReport, stop.signal), (error) => error === reason);
    assert.equal(receiver.requests.length, 1);
  });

  it("has eight POSTs under way to one origin at once; the ninth waits, and others do not", async () => {
    await using slow = await callbackReceiver(silent);
    await using quick = await callbackReceiver(answering(200));
    const sender = trySender();
    const waiting = Array.from({ length: 9 }, () => sender.send(jobFor(slow.origin), cleanReport, never));
    await until("eight have arrived", () => slow.requests.length >= 8);
    assert.deepEqual(await sender.send(jobFor(quick.origin), cleanReport, never), { delivered: true });
    assert.equal(slow.requests.length, 8);
    const ends = Promise.allSettled(waiting);
    await sender.close();
    for (const { status } of await ends) assert.equal(status, "rejected");
  });

  it("throws when the sender is closed under it", async () => {
    await using receiver = await callbackReceiver(silent);
    const sender = trySender();
    const sending = sender.send(jobFor(receiver.origin), cleanReport, never);
    await until("the POST has arrived", () => receiver.requests.length === 1);
    await Promise.all([assert.rejects(sending, /the callback sender is closed/), sender.close()]);
  });

  it("throws a fault, and lets go of its place, when it cannot be signed", async () => {
    await using receiver = await callbackReceiver(answering(200));
    let broken = true;
    const sign = callbackSigner(privateKey);
    await using sender = trySender({
      perOrigin: 1,
      async sign(parts) {
        if (broken) throw new Error("no key");
        return sign(parts);
      },
    });
    await assert.rejects(sender.send(jobFor(receiver.origin), cleanReport, never), /no key/);
    broken = false;
    assert.deepEqual(await sender.send(jobFor(receiver.origin), cleanReport, never), { delivered: true });
  });
});

describe("inside an invocation", () => {
  const retries = [1, 2, 3, 4, 5];

  it("the retries wait 0.25, 0.5, 1, 2 and 4 seconds", () => {
    assert.deepEqual(
      retries.map((retry) => retryWaitMs(retry, () => 0.5)),
      [250, 500, 1000, 2000, 4000],
    );
  });

  it("give or take a fifth", () => {
    fc.assert(
      fc.property(fc.constantFrom(...retries), fc.double({ min: 0, max: 1, noNaN: true }), (retry, random) => {
        const planned = 250 * 2 ** (retry - 1);
        const wait = retryWaitMs(retry, () => random);
        assert.ok(wait >= planned * 0.8 && wait <= planned * 1.2, `${wait}`);
      }),
    );
  });

  it("POSTs are counted over all invocations, from 1 to 24", () => {
    const numbers = [0, 1, 2, 3].flatMap((failedCallbacks) =>
      [0, ...retries].map((retry) => attemptNumber(jobFor("https://app.example.com/", {}, { failedCallbacks }), retry)),
    );
    assert.deepEqual(
      numbers,
      Array.from({ length: 24 }, (_, index) => index + 1),
    );
  });
});
