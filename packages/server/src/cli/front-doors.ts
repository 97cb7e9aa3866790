import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Place } from "../compose/servers.ts";
import { quietTurn } from "../flow/quiet-turn.ts";

/** A process that connections are handed to. */
export interface Taker {
  /** Resolves when it has the connection. Rejects when it is gone. */
  hand(name: string, socket: Socket): Promise<unknown>;
}

/** Where the supervisor listens for all processes, and hands out connections in turn. */
export interface FrontDoors extends Disposable {
  /** From now on this process has its turn. Answers the port. */
  open(place: Place, taker: Taker): Promise<number>;
  /** Resolves when it has all that it is ever handed. When the last one leaves, nobody listens any more. */
  leave(name: string, taker: Taker): Promise<void>;
  /** Its process has ended. */
  gone(taker: Taker): void;
  /** Whoever leaves from now on leaves with all others. */
  stop(): void;
}

export function frontDoors(): FrontDoors {
  const doors = new Map<string, FrontDoor>();
  let stopping = false;
  return {
    open(place, taker) {
      const door = doors.get(place.name) ?? frontDoor(place, () => stopping);
      doors.set(place.name, door);
      return door.open(taker);
    },
    leave: async (name, taker) => doors.get(name)?.leave(taker),
    gone(taker) {
      for (const door of doors.values()) door.gone(taker);
    },
    stop() {
      stopping = true;
    },
    [Symbol.dispose]() {
      for (const door of doors.values()) door[Symbol.dispose]();
    },
  };
}

interface FrontDoor extends Disposable {
  open(taker: Taker): Promise<number>;
  leave(taker: Taker): Promise<void>;
  gone(taker: Taker): void;
}

/**
 *   accepted ──▶ waiting ──▶ handed to the process whose turn it is ──▶ taken: closed here, and that process is the last in turn
 *                   ▲                     │
 *                   └──── it died ◀───────┘
 *
 * A process is handed one at a time, so that one which hangs holds up no more than that.
 */
function frontDoor({ host, port, name }: Place, stopping: () => boolean): FrontDoor {
  /** The same when it is opened again. */
  let known = port;
  let listening: Promise<Server> | undefined;
  let shutting: Promise<void> | undefined;
  let accepted = 0;
  const waiting: Socket[] = [];
  const takers = new Set<Taker>();
  const leaving = new Set<Taker>();
  /** In turn. */
  const free: Taker[] = [];
  const handing = new Map<Taker, Promise<void>>();

  async function listen(): Promise<Server> {
    const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
      accepted += 1;
      // Nobody reads it here; whoever gets it sees for himself that it is gone.
      socket.on("error", () => {});
      waiting.push(socket);
      handOut();
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen({ host, port: known }, resolve);
    });
    server.removeAllListeners("error").on("error", () => {});
    known = (server.address() as AddressInfo).port;
    return server;
  }

  function handOut(): void {
    while (!shutting && free.length > 0 && waiting.length > 0) {
      const taker = free.shift() as Taker;
      handing.set(taker, hand(taker, waiting.shift() as Socket));
    }
  }

  async function hand(taker: Taker, socket: Socket): Promise<void> {
    try {
      await taker.hand(name, socket);
      // The other's copy stays open.
      socket.destroy();
      if (takers.has(taker)) free.push(taker);
    } catch {
      waiting.unshift(socket);
      out(taker);
    }
    handing.delete(taker);
    handOut();
  }

  /** What waits is for those who are there then, or come next. */
  function shut(): Promise<void> {
    shutting ??= (async () => {
      const server = await listening?.catch(() => undefined);
      if (server) await quietTurn(() => accepted);
      server?.close();
      listening = undefined;
    })().finally(() => {
      shutting = undefined;
      handOut();
    });
    return shutting;
  }

  function out(taker: Taker): void {
    leaving.delete(taker);
    const turn = free.indexOf(taker);
    if (turn !== -1) free.splice(turn, 1);
    if (takers.delete(taker) && takers.size === 0 && listening) void shut();
    if (takers.size === 0 && stopping()) dropWaiting();
  }

  function dropWaiting(): void {
    for (const socket of waiting.splice(0)) socket.destroy();
  }

  return {
    async open(taker) {
      await shutting;
      listening ??= listen();
      try {
        await listening;
      } catch (error) {
        listening = undefined;
        throw error;
      }
      takers.add(taker);
      free.push(taker);
      handOut();
      return known;
    },
    async leave(taker) {
      leaving.add(taker);
      if (stopping() || takers.size === leaving.size) {
        await shut();
        // While another who leaves has it shut once more, nothing is handed out.
        while (waiting.length > 0 && takers.has(taker)) await (shutting ?? Promise.race(handing.values()));
      }
      const last = handing.get(taker);
      out(taker);
      await last;
    },
    gone: out,
    [Symbol.dispose]() {
      listening?.then((server) => server.close()).catch(() => {});
      dropWaiting();
    },
  };
}
