import type { ServerResponse } from "node:http";
import type { S3Answer } from "./operations.ts";
import { Refusal } from "./refusal.ts";

/** What the server does instead of its duty. */
export type Fault =
  /** Answers with this error. Without a code it has no XML, as if from something in between. */
  | { kind: "refuse"; status: number; code?: string }
  /** Closes the connection without an answer. */
  | { kind: "drop" }
  /** Never answers. */
  | { kind: "hang" }
  /** Announces the whole body, sends so much of it and closes the connection. */
  | { kind: "cut"; afterBytes: number }
  /** The same, and then neither sends nor closes. */
  | { kind: "stall"; afterBytes: number }
  /** Answers at once, with a body of spaces that never ends. */
  | { kind: "drip"; everyMs: number }
  /** Answers otherwise than it should. */
  | { kind: "garble"; change(answer: S3Answer): S3Answer };

export interface PlannedFault {
  fault: Fault;
  /** Those requests alone, by the name of the operation. */
  operation?: string;
  /** How many of them; all, if not told. */
  times?: number;
}

/** Faults in the order they were planned; each request meets the first that is meant for it. */
export function faultPlan(): {
  add(planned: PlannedFault): void;
  next(operation: string): Fault | undefined;
  clear(): void;
} {
  let planned: { fault: Fault; operation: string | undefined; left: number }[] = [];
  return {
    add: ({ fault, operation, times = Number.POSITIVE_INFINITY }) => planned.push({ fault, operation, left: times }),
    next(operation) {
      const due = planned.find((each) => each.left > 0 && (each.operation ?? operation) === operation);
      if (due) due.left -= 1;
      return due?.fault;
    },
    clear() {
      planned = [];
    },
  };
}

/** Answers, or does not, as the fault says. */
export function answerWith(
  fault: Fault,
  answer: () => S3Answer,
  send: { response: ServerResponse; whole(answer: S3Answer): void },
): void {
  const { response, whole } = send;
  switch (fault.kind) {
    case "refuse":
      if (fault.code !== undefined) throw new Refusal(fault.status, fault.code);
      whole({ status: fault.status, body: "something in between failed" });
      return;
    case "drop":
      response.destroy();
      return;
    case "hang":
      return;
    case "garble":
      whole(fault.change(answer()));
      return;
    case "drip": {
      response.writeHead(200, { "content-type": "application/xml" });
      const timer = setInterval(() => response.write(" "), fault.everyMs);
      response.once("close", () => clearInterval(timer));
      return;
    }
    case "cut":
    case "stall": {
      const { status, headers, body = "" } = answer();
      response.writeHead(status, headers);
      response.write(Buffer.from(body).subarray(0, fault.afterBytes), () => {
        if (fault.kind === "cut") response.destroy();
      });
    }
  }
}
