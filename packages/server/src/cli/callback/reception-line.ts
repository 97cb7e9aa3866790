import { formats } from "../scan/formats.ts";
import { coloured } from "../terminal/output.ts";
import { printable } from "../terminal/table.ts";
import type { IncomingCallback, Reception } from "./reception.ts";

export interface ReceptionLine {
  received: Reception;
  request: IncomingCallback;
  /** HTTP status. */
  answered: number;
  json: boolean;
  now: Date;
}

const SHOWN_CHARACTERS = 300;

/** A callback as people, or programs, read it. */
export function receptionLine({ received, request, answered, json, now }: ReceptionLine): string {
  if (json) {
    const authentic = received.kind === "authentic";
    return JSON.stringify({ time: now.toISOString(), authentic, ...facts(received, request), answered });
  }
  return [now.toISOString().slice(11, 19), ...words(received, request), `→ ${answered}`].join("  ");
}

function words(received: Reception, request: IncomingCallback): string[] {
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

function facts(received: Reception, request: IncomingCallback): Record<string, unknown> {
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
