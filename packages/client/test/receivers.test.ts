import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, test } from "node:test";
import {
  type CallbackHandler,
  fastifyReceiver,
  fetchReceiver,
  nodeReceiver,
  type ReceiverOptions,
  type VerifiedCallback,
} from "@lazaret/client";
import express from "express";
import fastify from "fastify";
import "../../server/test/support/leftovers.ts";
import { httpServer } from "../../server/test/support/loopback-server.ts";
import { until } from "../../server/test/support/until.ts";
import { cleanBody, signedHeaders, verifier } from "./signed-callback.ts";

interface Receiver extends AsyncDisposable {
  deliver(body: string, headers: Record<string, string>): Promise<{ status: number; text: string }>;
}

type Start = (handler: CallbackHandler, options: ReceiverOptions) => Promise<Receiver>;

async function listening(listener: RequestListener): Promise<Receiver> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    deliver: posting(`http://127.0.0.1:${(server.address() as AddressInfo).port}/scanned`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const posting =
  (url: string): Receiver["deliver"] =>
  async (body, headers) => {
    const response = await fetch(url, { method: "POST", body, headers });
    return { status: response.status, text: await response.text() };
  };

/** The same receiver on every platform, each with the parsers that its applications usually have. */
const platforms: Record<string, Start> = {
  "node:http": (handler, options) => listening(nodeReceiver(verifier, handler, options)),

  Express: (handler, options) => {
    const app = express();
    app.post("/scanned", nodeReceiver(verifier, handler, options));
    app.use(express.json());
    return listening(app);
  },

  "Express with a raw parser": (handler, options) => {
    const app = express();
    app.post("/scanned", express.raw({ type: "*/*" }), nodeReceiver(verifier, handler, options));
    return listening(app);
  },

  "Express with a parser that keeps the bytes": (handler, options) => {
    const app = express();
    app.use(express.json({ verify: (request, _, buffer) => Object.assign(request, { rawBody: buffer }) }));
    app.post("/scanned", nodeReceiver(verifier, handler, options));
    return listening(app);
  },

  Fastify: async (handler, options) => {
    const app = fastify();
    await app.register(fastifyReceiver(verifier, handler, { path: "/scanned", ...options }));
    app.post("/parsed", async (request) => (request.body as { a: number }).a);
    const address = await app.listen({ host: "127.0.0.1", port: 0 });
    const parsed = await posting(`${address}/parsed`)('{"a":1}', { "Content-Type": "application/json" });
    assert.equal(parsed.text, "1", "other routes are parsed as ever");
    return {
      deliver: posting(`${address}/scanned`),
      async [Symbol.asyncDispose]() {
        app.server.closeAllConnections();
        await app.close();
      },
    };
  },

  "a Next.js route handler": async (handler, options) => {
    const POST = fetchReceiver(verifier, handler, options);
    return {
      async deliver(body, headers) {
        const response = await POST(new Request("https://app.example.com/scanned", { method: "POST", body, headers }));
        return { status: response.status, text: await response.text() };
      },
      async [Symbol.asyncDispose]() {},
    };
  },
};

for (const [name, start] of Object.entries(platforms)) {
  describe(name, () => {
    test("an authentic callback is handed over and answered 204", async () => {
      const received: VerifiedCallback[] = [];
      await using receiver = await start((callback) => received.push(callback), {});
      assert.deepEqual(await receiver.deliver(cleanBody, signedHeaders(cleanBody)), { status: 204, text: "" });
      assert.deepEqual(
        received.map(({ result, deliveryId, attempt }) => ({ result, deliveryId, attempt })),
        [{ result: JSON.parse(cleanBody), deliveryId: "job-1", attempt: 1 }],
      );
    });

    test("what is not authentic is answered 400 with the reason, and handed to nobody", async () => {
      const refused: string[] = [];
      await using receiver = await start(() => assert.fail("it was handed over"), {
        onRefused: ({ reason }) => refused.push(reason),
        onError: (error) => assert.fail(String(error)),
      });
      const changed = cleanBody.replace("0.004", "0.005");
      const { "X-Signature": _, ...unsigned } = signedHeaders(cleanBody);
      const attempts: [string, Record<string, string>][] = [
        [changed, signedHeaders(cleanBody)],
        [cleanBody, unsigned],
        [cleanBody, { ...signedHeaders(cleanBody), "X-Timestamp": "1767225600000" }],
        [cleanBody, { ...signedHeaders(cleanBody), "X-Timestamp": "yesterday" }],
      ];
      for (const [body, headers] of attempts) {
        const { status, text } = await receiver.deliver(body, headers);
        assert.equal(status, 400);
        assert.match(text, new RegExp(`^${refused.at(-1)}: `));
      }
      assert.deepEqual(refused, ["bad_signature", "missing_header", "old_timestamp", "bad_timestamp"]);
    });

    test("a handler that throws is answered 500, so that Lazaret tries again", async () => {
      const errors: unknown[] = [];
      const trouble = new Error("the database is away");
      await using receiver = await start(() => Promise.reject(trouble), { onError: (error) => errors.push(error) });
      const { status, text } = await receiver.deliver(cleanBody, signedHeaders(cleanBody));
      assert.equal(status, 500);
      assert.doesNotMatch(text, /database/);
      assert.deepEqual(errors, [trouble]);
    });
  });
}

for (const name of ["node:http", "Express", "a Next.js route handler"]) {
  test(`${name}: a body over the limit is answered 400 without being kept`, async () => {
    const start = platforms[name] as Start;
    await using receiver = await start(() => assert.fail("it was handed over"), { maxBytes: 100 });
    const { status, text } = await receiver.deliver(cleanBody, signedHeaders(cleanBody));
    assert.equal(status, 400);
    assert.match(text, /^too_big: /);
  });
}

test("Fastify answers a body over the limit itself", async () => {
  await using receiver = await (platforms.Fastify as Start)(() => assert.fail("it was handed over"), { maxBytes: 100 });
  assert.equal((await receiver.deliver(cleanBody, signedHeaders(cleanBody))).status, 413);
});

test("Express: a parser in front is told apart from a bad signature", async () => {
  const app = express();
  app.use(express.json());
  app.post(
    "/scanned",
    nodeReceiver(verifier, () => assert.fail("it was handed over")),
  );
  await using receiver = await listening(app);
  const { status, text } = await receiver.deliver(cleanBody, signedHeaders(cleanBody));
  assert.equal(status, 400);
  assert.match(text, /^parsed_body: .*let no body parser see this route first/);
});

test("a sender that goes away in mid-body is nobody's callback", async () => {
  const errors: unknown[] = [];
  const receiver = nodeReceiver(verifier, () => assert.fail("it was handed over"), { onError: (e) => errors.push(e) });
  const handled: Promise<void>[] = [];
  await using server = await httpServer((request, response) => void handled.push(receiver(request, response)));
  const socket = connect(server.port, "127.0.0.1");
  socket.write(`POST /scanned HTTP/1.1\r\nHost: x\r\nContent-Length: ${cleanBody.length}\r\n\r\n{`);
  await until("the request has begun", () => handled.length === 1, { limitMs: 60_000 });
  socket.destroy();
  await handled[0];
  assert.match(String(errors[0]), /the connection was lost in mid-request/);
});
