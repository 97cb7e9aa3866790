import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import {
  answering,
  type CallbackAnswer,
  callbackReceiver,
  inTurn,
  type ReceiverOptions,
  silent,
} from "../../test/support/callback-receiver.ts";
import "../../test/support/leftovers.ts";
import { cleanReport, jobFor, trySender } from "../../test/support/try-callback.ts";
import { until } from "../../test/support/until.ts";
import { Busy } from "../model/faults.ts";

const never = new AbortController().signal;

const raw =
  (text: string): CallbackAnswer =>
  (socket) =>
    void socket.write(text);

/** Writes the same again and again, as long as somebody takes it. */
function flood(socket: Socket, piece: string, everyMs?: number): void {
  const more = (): void => {
    if (everyMs === undefined) while (socket.write(piece));
    else socket.write(piece);
  };
  if (everyMs === undefined) socket.on("drain", more);
  else {
    const timer = setInterval(more, everyMs);
    socket.once("close", () => clearInterval(timer));
  }
  more();
}

describe("a receiver that misbehaves", () => {
  const cases: { does: string; code: string; answer?: CallbackAnswer; options?: ReceiverOptions; posts?: number }[] = [
    { does: "never answers", code: "ETIMEDOUT", answer: silent },
    {
      does: "dribbles its headers for ever",
      code: "ETIMEDOUT",
      answer: (socket) => {
        socket.write("HTTP/1.1 200 OK\r\nx-a: ");
        flood(socket, "b", 10);
      },
    },
    {
      does: "sends informational answers for ever",
      code: "ETIMEDOUT",
      answer: (socket) => flood(socket, "HTTP/1.1 102 Processing\r\n\r\n", 10),
    },
    {
      does: "sends headers without end",
      code: "bad_response",
      answer: (socket) => {
        socket.write("HTTP/1.1 200 OK\r\n");
        flood(socket, `x-a: ${"b".repeat(1000)}\r\n`);
      },
    },
    { does: "speaks something else", code: "bad_response", answer: raw("220 mail.test ESMTP\r\n") },
    {
      does: "switches protocols",
      code: "ECONNRESET",
      answer: raw("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
    },
    { does: "redirects", code: "HTTP_302", answer: answering(302, { location: "http://127.0.0.1:1/elsewhere" }) },
    { does: "redirects for good", code: "HTTP_308", answer: answering(308, { location: "/" }) },
    { does: "says that nothing changed", code: "HTTP_304", answer: raw("HTTP/1.1 304 Not Modified\r\n\r\n") },
    { does: "says that it is gone, or to wait", code: "HTTP_410", answer: answering(410, { "retry-after": "3600" }) },
    { does: "closes after reading", code: "ECONNRESET", answer: (socket) => socket.end() },
    { does: "resets after reading", code: "ECONNRESET", answer: (socket) => socket.resetAndDestroy() },
    {
      does: "resets before reading",
      code: "ECONNRESET",
      options: { onConnection: (socket) => socket.resetAndDestroy() },
      posts: 0,
    },
    { does: "breaks off in its headers", code: "ECONNRESET", answer: (socket) => socket.end("HTTP/1.1 200 OK\r\nx-") },
    {
      does: "refuses with an endless body",
      code: "HTTP_500",
      answer: (socket) => {
        socket.write("HTTP/1.1 500 No\r\ncontent-length: 999999999999\r\n\r\n");
        flood(socket, "x".repeat(10_000));
      },
    },
  ];
  for (const { does, code, answer = silent, options = {}, posts = 6 } of cases) {
    it(`and ${does} has failed six times with ${code}, and is left`, async () => {
      await using receiver = await callbackReceiver(answer, options);
      await using sender = trySender({ timeoutMs: code === "ETIMEDOUT" ? 500 : 10_000 });
      const delivery = await sender.send(jobFor(receiver.origin), cleanReport, never);
      assert.ok(!delivery.delivered);
      assert.equal(delivery.failure.code, code);
      assert.doesNotMatch(delivery.failure.message, /127\.0\.0\.1|mail\.test/);
      assert.equal(receiver.connections, 6);
      assert.equal(receiver.requests.length, posts);
      await until("every connection is closed", () => receiver.openConnections === 0);
    });
  }

  const accepting: { does: string; answer: CallbackAnswer }[] = [
    {
      does: "its answer never ends",
      answer: (socket) => {
        socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        flood(socket, `2710\r\n${"x".repeat(10_000)}\r\n`);
      },
    },
    {
      does: "its answer dribbles",
      answer: (socket) => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
        flood(socket, "x", 50);
      },
    },
    { does: "its answer stops half-way", answer: raw("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nx") },
    { does: "its answer is cut", answer: (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx") },
    {
      does: "it says more than it was asked",
      answer: raw("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 500 No\r\n\r\n"),
    },
  ];
  for (const { does, answer } of accepting) {
    it(`has received the callback if it says 2xx, although ${does}`, async () => {
      await using receiver = await callbackReceiver(answer);
      await using sender = trySender();
      assert.deepEqual(await sender.send(jobFor(receiver.origin), cleanReport, never), { delivered: true });
      assert.equal(receiver.requests.length, 1);
      await until("the connection is closed", () => receiver.openConnections === 0);
    });
  }
});

describe("a receiver that is only unusual", () => {
  for (const [does, answer] of [
    ["says that its answer is gzip, and it is not", answering(200, { "content-encoding": "gzip" }, "no")],
    ["sends an informational answer first", raw("HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 204 OK\r\n\r\n")],
    ["answers with as much as is read", answering(200, {}, "x".repeat(65_536))],
  ] as const) {
    it(`and ${does} has received the callback, and its connection is kept`, async () => {
      await using receiver = await callbackReceiver(answer);
      await using sender = trySender({ perOrigin: 1 });
      for (let job = 0; job < 2; job += 1) {
        assert.deepEqual(await sender.send(jobFor(receiver.origin), cleanReport, never), { delivered: true });
      }
      assert.deepEqual([receiver.requests.length, receiver.connections], [2, 1]);
    });
  }
});

describe("connections to a receiver", () => {
  /** With one place, the next job comes when the answer to the one before has been read. */
  const oneAtATime = { perOrigin: 1 };

  it("are used again by later jobs after a 2xx", async () => {
    await using receiver = await callbackReceiver(answering(200, {}, "thanks"));
    await using sender = trySender(oneAtATime);
    for (const path of ["/a", "/b", "/c"]) await sender.send(jobFor(`${receiver.origin}${path}`), cleanReport, never);
    assert.deepEqual([receiver.requests.length, receiver.connections], [3, 1]);
  });

  it("are not used again when the receiver closes them, says so or not", async () => {
    for (const answer of [
      answering(200, { connection: "close" }),
      raw("HTTP/1.0 200 OK\r\n\r\n"),
      ((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")) satisfies CallbackAnswer,
    ]) {
      await using receiver = await callbackReceiver((socket, request) => {
        answer(socket, request);
        socket.end();
      });
      await using sender = trySender(oneAtATime);
      for (let job = 0; job < 3; job += 1) {
        assert.deepEqual(await sender.send(jobFor(receiver.origin), cleanReport, never), { delivered: true });
        await until("the connection is closed", () => receiver.openConnections === 0);
      }
      assert.equal(receiver.connections, 3);
      assert.equal(receiver.requests.length, 3);
    }
  });

  it("are not used again after an answer that is longer than what is read", async () => {
    await using receiver = await callbackReceiver(answering(200, {}, "x".repeat(65_537)));
    await using sender = trySender(oneAtATime);
    for (let job = 0; job < 2; job += 1) {
      assert.deepEqual(await sender.send(jobFor(receiver.origin), cleanReport, never), { delivered: true });
    }
    assert.deepEqual([receiver.requests.length, receiver.connections], [2, 2]);
  });

  it("are made once for each POST, even if they break before anything is sent", async () => {
    let dials = 0;
    await using receiver = await callbackReceiver(answering(200));
    await using sender = trySender({
      connector: () => (target, callback) => {
        dials += 1;
        const socket = connect(Number(target.port), target.hostname, () => {
          socket.destroy();
          callback(null, socket);
        });
      },
    });
    const delivery = await sender.send(jobFor(receiver.origin), cleanReport, never);
    assert.equal(delivery.delivered || delivery.failure.code, "ECONNRESET");
    assert.equal(dials, 6);
  });

  it("that broke in the meantime cost a try, and the retry has a new one", async () => {
    await using receiver = await callbackReceiver(
      inTurn(answering(200), (socket) => socket.resetAndDestroy(), answering(200)),
    );
    await using sender = trySender(oneAtATime);
    for (let job = 0; job < 2; job += 1) {
      assert.deepEqual(await sender.send(jobFor(receiver.origin), cleanReport, never), { delivered: true });
    }
    assert.deepEqual([receiver.requests.length, receiver.connections], [3, 2]);
  });

  it("are all gone when the sender is closed", async () => {
    await using receiver = await callbackReceiver(answering(200));
    const sender = trySender();
    await sender.send(jobFor(receiver.origin), cleanReport, never);
    assert.equal(receiver.openConnections, 1);
    await sender.close();
    await until("the connection is closed", () => receiver.openConnections === 0);
  });
});

describe("many callbacks at once", () => {
  it("are at most eight to one origin, and a dead receiver does not hold up the others", async () => {
    const held: Socket[] = [];
    await using dead = await callbackReceiver((socket) => void held.push(socket));
    await using alive = await callbackReceiver(answering(204));
    await using sender = trySender({ longestLine: 12 });
    const stuck = Array.from({ length: 20 }, () => sender.send(jobFor(dead.origin), cleanReport, never));
    await until("eight POSTs are under way", () => held.length === 8);

    const others = Array.from({ length: 20 }, () => sender.send(jobFor(alive.origin), cleanReport, never));
    assert.deepEqual(await Promise.all(others), Array(20).fill({ delivered: true }));
    assert.ok(alive.connections <= 8);
    assert.equal(held.length, 8);
    assert.equal(dead.openConnections, 8);

    await assert.rejects(sender.send(jobFor(dead.origin), cleanReport, never), Busy);
    const stop = new AbortController();
    stop.abort(new Error("enough"));
    await assert.rejects(sender.send(jobFor(alive.origin), cleanReport, stop.signal), /enough/);

    const answer = "HTTP/1.1 204 OK\r\n\r\n";
    await until("all have been answered", () => {
      for (const socket of held.splice(0)) socket.write(answer);
      return dead.requests.length === 20;
    });
    for (const socket of held) socket.write(answer);
    assert.deepEqual(await Promise.all(stuck), Array(20).fill({ delivered: true }));
    assert.equal(dead.connections, 8);
  });
});
