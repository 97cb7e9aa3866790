import { Command } from "commander";
import { timeLimit } from "../flow/time-limit.ts";
import { callbackReceiver, callbackServer, type IncomingCallback, type ReceivedCallback } from "./callback/receiver.ts";
import { withExamples } from "./examples.ts";
import { reasonOf, wrongUsage } from "./exit-codes.ts";
import { portNumber, wholeNumber } from "./flag-values.ts";
import { stopSignal } from "./run-service.ts";
import { formats } from "./scan/formats.ts";
import { addKeyFlags, callbackKeys, type KeyFlags } from "./server-connection.ts";
import { coloured, out, printable, say } from "./terminal/output.ts";

interface ListenFlags extends KeyFlags {
  host: string;
  port: number;
  forwardTo?: string;
  callbackUrl?: string;
  tenantId?: string;
  count?: number;
  json?: boolean;
}

const TAKEN = { status: 204, text: "" };
const SHOWN_CHARACTERS = 300;
/** A second less than the server waits for the whole answer. */
const FORWARD_TIMEOUT_MS = 14_000;
/** Headers of the connection, not of the callback. */
const LEFT_OUT = ["host", "connection", "keep-alive", "content-length", "transfer-encoding", "expect", "te", "upgrade"];

export function listenCommand(): Command {
  const command = new Command("listen")
    .description("receive callbacks on this machine, verify them and show them")
    .option("--forward-to <url>", "forward each authentic callback to your receiver, and answer as it does")
    .option("--port <number>", "to listen on; 0 takes any free one", portNumber, 8041)
    .option("--host <address>", "to listen on", "127.0.0.1")
    .option("--callback-url <url>", "the URL that jobs are submitted with, if a tunnel leads here")
    .option("--tenant-id <id>", "for jobs that were submitted under /v1")
    .option("--count <number>", "stop after so many", wholeNumber)
    .option("--json", "a line of JSON for each");
  addKeyFlags(command);
  withExamples(
    command,
    [
      ["listen", "then: lazaret submit https://… --callback-url http://127.0.0.1:8041/"],
      ["listen --forward-to http://localhost:3000/scanned", "your receiver gets the same bytes and headers"],
      ["listen --count 1 --json", "wait for one callback"],
    ],
    [
      "The key is fetched from the server. Authentic callbacks are answered with 204, or as --forward-to answers; everything else with 400.",
      "A callback that is forwarded is still signed for the URL it was sent to here.",
    ],
  );
  return command.action((flags: ListenFlags) => listen(flags));
}

async function listen(flags: ListenFlags): Promise<void> {
  const { callbackUrl, tenantId, forwardTo, json = false, count = Number.POSITIVE_INFINITY } = flags;
  const stopped = stopSignal();
  const receiver = await callbackReceiver({ keys: () => callbackKeys(flags), callbackUrl, tenantId });
  if (!receiver.signed) {
    say("lazaret: this server does not sign callbacks, so nobody can tell who sent them\n");
    say("hint: LAZARET_SIGN_CALLBACK_INVOCATIONS=true makes it sign them; lazaret dev does\n");
  }
  const forward = forwardTo === undefined ? undefined : forwarder(forwardTo);
  const enough = Promise.withResolvers<void>();
  let shown = 0;
  const server = await callbackServer({
    host: flags.host,
    port: flags.port,
    async answer(request) {
      const received = await receiver.receive(request);
      const answer = received.kind === "refused" ? refusal(received) : await (forward?.(request) ?? TAKEN);
      out(`${callbackLine({ received, request, answered: answer.status, json, now: new Date() })}\n`);
      shown += 1;
      if (shown >= count) enough.resolve();
      return answer;
    },
  });
  say(`listening on ${server.url}, stop: Ctrl-C\n`);
  await Promise.race([stopped, enough.promise]);
  await server[Symbol.asyncDispose]();
}

function refusal({ reason, message }: Extract<ReceivedCallback, { kind: "refused" }>): {
  status: number;
  text: string;
} {
  return { status: 400, text: `${reason}: ${message}` };
}

interface CallbackLine {
  received: ReceivedCallback;
  request: IncomingCallback;
  /** HTTP status. */
  answered: number;
  json: boolean;
  now: Date;
}

/** A callback as people, or programs, read it. */
function callbackLine({ received, request, answered, json, now }: CallbackLine): string {
  if (json) {
    const authentic = received.kind === "authentic";
    return JSON.stringify({ time: now.toISOString(), authentic, ...facts(received, request), answered });
  }
  return [now.toISOString().slice(11, 19), ...words(received, request), `→ ${answered}`].join("  ");
}

function words(received: ReceivedCallback, request: IncomingCallback): string[] {
  switch (received.kind) {
    case "authentic": {
      const { result, attempt } = received.callback;
      const again = attempt !== undefined && attempt > 1 ? [`(try ${attempt})`] : [];
      return [coloured("ok", "authentic"), formats.text.line(result.trace_id ?? result.download_url, result), ...again];
    }
    case "refused":
      return [coloured("fail", "refused  "), printable(`${received.reason}: ${received.message}`)];
    case "unsigned":
      return [
        coloured("warn", "unsigned "),
        printable(Buffer.from(request.body).toString("utf8").slice(0, SHOWN_CHARACTERS)),
      ];
  }
}

function facts(received: ReceivedCallback, request: IncomingCallback): Record<string, unknown> {
  switch (received.kind) {
    case "authentic": {
      const { result, deliveryId, attempt } = received.callback;
      return { ...result, delivery_id: deliveryId, attempt };
    }
    case "refused":
      return { reason: received.reason, message: received.message };
    case "unsigned":
      return { text: Buffer.from(request.body).toString("utf8") };
  }
}

/** Hands a callback on with the same bytes and headers, and answers what the receiver answered. Never throws. */
function forwarder(url: string): (request: IncomingCallback) => Promise<{ status: number; text: string }> {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw wrongUsage(`${url} is not a URL`, "--forward-to http://localhost:3000/…");
  }
  return async ({ body, headers }) => {
    const kept = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      LEFT_OUT.includes(name) || value === undefined ? [] : [[name, [value].flat().join(", ")]],
    );
    using limit = timeLimit(FORWARD_TIMEOUT_MS);
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: kept,
        body: Buffer.from(body),
        redirect: "manual",
        signal: limit.signal,
      });
      return { status: response.status, text: (await response.text()).trim() };
    } catch (error) {
      return { status: 502, text: `cannot forward to ${url}: ${reasonOf(error)}` };
    }
  };
}
