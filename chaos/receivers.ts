import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { Socket } from "node:net";
import { callbackHeaderNames as names, SIGNATURE_WINDOW_SECONDS } from "../packages/contract/src/index.ts";
import {
  answering,
  type CallbackAnswer,
  type CallbackReceiver,
  callbackReceiver,
  type ReceivedCallback,
} from "../packages/server/test/support/callback-receiver.ts";
import type { Ledger } from "./ledger.ts";
import { type PlannedJob, RECEIVERS } from "./plan.ts";
import { pick, type Random } from "./seeded.ts";

/** What a receiver does with a callback that it has read. */
type Behaviour = "accepts" | "accepts at length" | "fails" | "redirects" | "resets" | "hangs";

const moods: Record<"callback" | "deaf", readonly (readonly [Behaviour, number])[]> = {
  callback: [
    ["accepts", 76],
    ["accepts at length", 2],
    ["fails", 10],
    ["redirects", 5],
    ["resets", 6],
    ["hangs", 1],
  ],
  deaf: [
    ["fails", 60],
    ["redirects", 20],
    ["resets", 20],
  ],
};
/** Connections that are reset before anything is read from them. */
const RESET_UNREAD_SHARE = 0.04;
/** Longer than the sender waits. */
const HANG_MS = 20_000;
const LONG_ANSWER = Buffer.alloc(10 * 1024 * 1024, "x");
const REDIRECTED = "/redirected";

export interface Receivers extends AsyncDisposable {
  urlOf(job: PlannedJob): string;
  /** Before anything is submitted. */
  trust(publicKeyPem: string): void;
  /** How often each behaviour was shown, and resets before reading. */
  readonly shown: Readonly<Record<string, number>>;
}

/** Receivers on loopback, each with a port of its own, that misbehave as the seed says, and write down all they read. */
export async function receivers(ledger: Ledger, random: Random): Promise<Receivers> {
  const shown: Record<string, number> = {};
  const posts = new Map<string, number>();
  await using opened = new AsyncDisposableStack();
  const origins: Record<"callback" | "deaf", string[]> = { callback: [], deaf: [] };
  let publicKey: KeyObject | undefined;

  const show = (behaviour: string): void => {
    shown[behaviour] = (shown[behaviour] ?? 0) + 1;
  };

  /** The number of this POST among those of its job decides, not when it comes. */
  function behaviourFor(traceId: string, kind: "callback" | "deaf"): Behaviour {
    const number = (posts.get(traceId) ?? 0) + 1;
    posts.set(traceId, number);
    return pick(moods[kind], random("post", traceId, number));
  }

  function take(socket: Socket, request: ReceivedCallback, kind: "callback" | "deaf", origin: string): void {
    const path = request.requestLine.split(" ")[1] ?? "";
    if (path === REDIRECTED) {
      ledger.strange.push("a redirect was followed");
      return;
    }
    const traceId = path.slice(1);
    const behaviour = behaviourFor(traceId, kind);
    show(behaviour);
    const post = {
      deliveryId: request.values(names.deliveryId).join(),
      signed: publicKey !== undefined && isSigned(request, `${origin}${path}`, publicKey),
      payload: JSON.parse(request.body.toString()),
      accepted: behaviour.startsWith("accepts") && socket.writable,
    };
    ledger.posted(traceId, post);
    answers[behaviour](socket, request);
    if (behaviour !== "hangs") return;
    const timer = setTimeout(() => {
      // The sender should have left by now; should it not, then it has its answer.
      post.accepted = socket.writable;
      answers.accepts(socket, request);
    }, HANG_MS);
    socket.once("close", () => clearTimeout(timer));
  }

  async function open(kind: "callback" | "deaf", index: number): Promise<void> {
    let connections = 0;
    const receiver: CallbackReceiver = opened.use(
      await callbackReceiver((socket, request) => take(socket, request, kind, receiver.origin), {
        onConnection(socket) {
          connections += 1;
          if (random("connection", kind, index, connections) >= RESET_UNREAD_SHARE) return;
          show("resets unread");
          socket.resetAndDestroy();
        },
      }),
    );
    origins[kind][index] = receiver.origin;
  }
  for (let index = 0; index < RECEIVERS; index += 1) {
    await open("callback", index);
    await open("deaf", index);
  }

  const all = opened.move();
  return {
    shown,
    urlOf({ answer, receiver, traceId }) {
      return `${origins[answer === "deaf" ? "deaf" : "callback"][receiver]}/${traceId}`;
    },
    trust(pem) {
      publicKey = createPublicKey(pem);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const answers: Record<Behaviour, CallbackAnswer> = {
  accepts: answering(204),
  "accepts at length": (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${LONG_ANSWER.length}\r\n\r\n`);
    socket.write(LONG_ANSWER);
  },
  fails: answering(503),
  redirects: answering(307, { location: REDIRECTED }),
  resets: (socket) => socket.resetAndDestroy(),
  hangs: () => {},
};

/** As docs/callbacks.md tells receivers to check it. */
function isSigned(request: ReceivedCallback, url: string, publicKey: KeyObject): boolean {
  const [timestamp = "", ...others] = request.values(names.timestamp);
  const [signature = "", ...more] = request.values(names.signature);
  if (others.length + more.length > 0) return false;
  if (!(Math.abs(Date.now() - Number(timestamp)) < SIGNATURE_WINDOW_SECONDS * 1000)) return false;
  const signed = Buffer.concat([Buffer.from(`${timestamp}.${url}.`), request.body]);
  return verify("sha256", signed, publicKey, Buffer.from(signature, "hex"));
}
