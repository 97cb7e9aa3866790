import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * The requests of one connection, answered one at a time. A client may send its next request before it has the answer to the
 * one before; that one waits. For a client that sends more than that, the answer under way is the last one of the connection:
 * HTTP lets it send the others again, and node:http would parse and keep all of them.
 */
export interface RequestTurns {
  /** Resolves when the request before this one is answered; never, if the connection is closed by then. Undefined: it is now. */
  take(message: IncomingMessage, response: ServerResponse): Promise<void> | undefined;
  /** A request is being answered, or waits. */
  readonly busy: boolean;
  /** A request waits. */
  readonly hasNext: boolean;
  /** The connection is closed behind the answer under way. */
  readonly mustClose: boolean;
}

/** More requests than this behind the last one end the connection at once: they take memory. */
const IGNORED_AT_MOST = 100;

export function pipelining(socket: Socket): RequestTurns {
  let busy = false;
  let mustClose = false;
  let next: (() => void) | undefined;
  let ignored = 0;

  function begin(message: IncomingMessage, response: ServerResponse): void {
    busy = true;
    // node:http parses on behind a request for another protocol as if nothing had been there: what follows may be part of a body.
    mustClose ||= message.headers.upgrade !== undefined;
    response.once("close", () => {
      if (mustClose) socket.destroySoon();
      if (mustClose || socket.destroyed) return;
      const follow = next;
      next = undefined;
      if (follow) follow();
      else busy = false;
    });
  }

  return {
    get busy() {
      return busy;
    },
    get hasNext() {
      return next !== undefined;
    },
    get mustClose() {
      return mustClose;
    },
    take(message, response) {
      if (!busy && !mustClose) {
        begin(message, response);
        return undefined;
      }
      if (!next && !mustClose) {
        return new Promise((resolve) => {
          next = () => {
            begin(message, response);
            resolve();
          };
        });
      }
      mustClose = true;
      ignored += 1;
      if (ignored > IGNORED_AT_MOST) socket.destroy();
      return new Promise(() => {});
    },
  };
}
