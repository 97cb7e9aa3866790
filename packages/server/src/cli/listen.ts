import { Command } from "commander";
import { callbackServer } from "./callback/callback-server.ts";
import { forwarder } from "./callback/forwarder.ts";
import { type Reception, reception } from "./callback/reception.ts";
import { receptionLine } from "./callback/reception-line.ts";
import { addKeyFlags, callbackKeys, type KeyFlags } from "./callback/server-key.ts";
import { withExamples } from "./examples.ts";
import { portNumber } from "./flags/flag-values.ts";
import { stopSignal } from "./service/run-service.ts";
import { out, say } from "./terminal/output.ts";
import { wholeNumber } from "./terminal/quantities.ts";

interface ListenFlags extends KeyFlags {
  host: string;
  port: number;
  forwardTo?: string;
  callbackUrl?: string;
  tenantId?: string;
  count?: number;
  json?: boolean;
}

export function listenCommand(): Command {
  const command = new Command("listen")
    .description("receive callbacks on this machine, verify them and show them")
    .option("--forward-to <url>", "hand each authentic callback on to your receiver, and answer what it answers")
    .option("--port <number>", "to listen on; 0 takes any free one", portNumber, 8041)
    .option("--host <address>", "to listen on", "127.0.0.1")
    .option("--callback-url <url>", "what jobs are submitted with, if a tunnel leads here")
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
      "The key is fetched from the server. What is authentic is answered 204, or as --forward-to answers; everything else 400.",
      "A callback that is forwarded is still signed for the URL it was sent to here.",
    ],
  );
  return command.action((flags: ListenFlags) => listen(flags));
}

async function listen(flags: ListenFlags): Promise<void> {
  const { callbackUrl, tenantId, forwardTo, json = false, count = Number.POSITIVE_INFINITY } = flags;
  const stopped = stopSignal();
  const desk = await reception({ keys: () => callbackKeys(flags), callbackUrl, tenantId });
  if (!desk.signed) {
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
      const received = await desk.receive(request);
      const answer = received.kind === "refused" ? refusal(received) : await (forward?.(request) ?? TAKEN);
      out(`${receptionLine({ received, request, answered: answer.status, json, now: new Date() })}\n`);
      shown += 1;
      if (shown >= count) enough.resolve();
      return answer;
    },
  });
  say(`listening on ${server.url}, stop: Ctrl-C\n`);
  await Promise.race([stopped, enough.promise]);
  await server[Symbol.asyncDispose]();
}

const TAKEN = { status: 204, text: "" };

function refusal({ reason, message }: Extract<Reception, { kind: "refused" }>): { status: number; text: string } {
  return { status: 400, text: `${reason}: ${message}` };
}
