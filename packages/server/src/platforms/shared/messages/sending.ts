import { setTimeout as pause } from "node:timers/promises";
import { removeItem } from "../../../flow/remove-item.ts";
import { saidLately } from "../../../flow/said-lately.ts";
import { firstOf } from "../../../flow/time-limit.ts";
import type { Log } from "../../../log.ts";
import type { Outbox, OutboxLease } from "./outbox.ts";
import { failedWith, type Sender } from "./sender.ts";
import type { Receiver } from "./subscriptions.ts";

/** Sends what is in the outbox, for ever. */
export interface Sending {
  /** Takes no more messages, lets those under way finish for at most `graceMs`, and puts back the rest. */
  stop(graceMs: number): Promise<void>;
}

export interface SendingOptions {
  outbox: Outbox;
  receivers: readonly Receiver[];
  senderFor(receiver: Receiver): Sender;
  log: Log;
  now(): number;
  random(): number;
}

interface Route {
  receiver: Receiver;
  sender: Sender;
  lane: Lane;
}

const SWEEP_EVERY_MS = 60_000;
const AFTER_FAULT_MS = 1000;

export function startSending({ outbox, receivers, senderFor, log, now, random }: SendingOptions): Sending {
  const routes = new Map(receivers.map((receiver) => [receiver.id, routeTo(receiver)]));
  const stopTaking = new AbortController();
  const stopSending = new AbortController();
  const underWay: Promise<void>[] = [];
  /** By receiver, at the last sweep. */
  let dropped: ReadonlyMap<string, number> | undefined;
  let sweptAt: number | undefined;
  const said = saidLately();
  /** Ends the wait for messages: there is room for more, or we stop. */
  let wake = new AbortController();

  function routeTo(receiver: Receiver): Route {
    const sender = senderFor(receiver);
    return { receiver, sender, lane: lane({ atOnce: sender.atOnce, now, random }) };
  }

  async function takeForever(): Promise<void> {
    while (!stopTaking.signal.aborted) {
      try {
        wake = new AbortController();
        await sweepNowAndThen();
        const wanted = [...routes].map(([id, { lane }]) => ({ receiver: id, limit: lane.room() }));
        const open = wanted.filter(({ limit }) => limit > 0);
        const leases = open.length === 0 ? [] : await outbox.take(open);
        for (const lease of leases) begin(lease);
        if (leases.length > 0) continue;
        using woken = firstOf([wake.signal, stopTaking.signal]);
        await outbox.wait(
          open.map(({ receiver }) => receiver),
          woken.signal,
        );
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (!said(message)) log.error("outbox", { error: message });
        await pause(AFTER_FAULT_MS, undefined, { signal: stopTaking.signal }).catch(() => {});
      }
    }
  }

  function begin(lease: OutboxLease): void {
    const route = routes.get(lease.message.receiver);
    if (!route) return;
    const work: Promise<void> = send(lease, route).finally(() => {
      removeItem(underWay, work);
      wake.abort();
    });
    underWay.push(work);
  }

  /** One try, and its one line. Never throws. */
  async function send(lease: OutboxLease, { receiver, sender, lane }: Route): Promise<void> {
    const started = performance.now();
    lane.began();
    const outcome = await sender.send(lease, stopSending.signal).catch(failedWith);
    const given = stopSending.signal.aborted && outcome.kind === "failed";
    const how = given ? "untried" : outcome.kind;
    lane.ended(how);
    const afterSeconds = waitSeconds(lease.failures + 1, random);
    const kept = await lease.end(how === "failed" ? { kind: how, afterSeconds } : { kind: how }).catch(asText);
    const { id, protocol, shownEndpoint } = receiver;
    log("message", {
      message_id: lease.message.id,
      receiver: id,
      protocol,
      endpoint: shownEndpoint,
      attempt: lease.failures + 1,
      outcome: how,
      status: outcome.statusCode,
      code: outcome.kind === "failed" ? outcome.code : undefined,
      again_seconds: how === "failed" ? Math.round(afterSeconds) : undefined,
      // What could not be written is sent again when the lease runs out.
      error: kept === true ? undefined : kept || "lease lost",
      ms: Math.round(performance.now() - started),
    });
  }

  async function sweepNowAndThen(): Promise<void> {
    const sweptMs = sweptAt === undefined ? SWEEP_EVERY_MS : now() - sweptAt;
    // A clock that was set back makes it sweep, which repairs what was written with the wrong one.
    if (sweptMs >= 0 && sweptMs < SWEEP_EVERY_MS) return;
    const before = dropped ?? (await droppedSoFar());
    await outbox.sweep();
    dropped = await droppedSoFar();
    sweptAt = now();
    for (const [receiver, total] of dropped) {
      const messages = total - (before.get(receiver) ?? 0);
      const endpoint = routes.get(receiver)?.receiver.shownEndpoint;
      if (messages > 0) log.error("messages_dropped", { receiver, endpoint, messages });
    }
  }

  async function droppedSoFar(): Promise<ReadonlyMap<string, number>> {
    return new Map((await outbox.counts()).map(({ receiver, dropped }) => [receiver, dropped]));
  }

  const taking = takeForever();
  return {
    async stop(graceMs) {
      stopTaking.abort();
      await taking;
      const cut = setTimeout(() => stopSending.abort(new Error("the fan-out is stopping")), graceMs);
      await Promise.allSettled(underWay);
      clearTimeout(cut);
      await Promise.all([...routes.values()].map(({ sender }) => sender.close()));
    },
  };
}

function asText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * How much may be sent to one receiver right now.
 *
 *   up ──8 failures in a row──▶ down ──success──▶ up
 *
 * While it is up, a bounded number at once. While it is down, one message at a time is tried, and after each failure the
 * receiver is left alone for longer: its backlog, however long, costs next to nothing.
 */
interface Lane {
  /** How many sends may begin now. */
  room(): number;
  began(): void;
  ended(how: "sent" | "failed" | "untried"): void;
}

interface LaneOptions {
  atOnce: number;
  /** Milliseconds since 1970. */
  now(): number;
  /** From 0 to 1. */
  random(): number;
}

const FIRST_SECONDS = 5;
const LONGEST_SECONDS = 600;
/** By how much of itself a wait is made shorter at most, so that what failed together parts. */
const JITTER = 0.2;
const DOWN_AFTER = 8;

/** @internal tested with a clock of its own */
export function lane({ atOnce, now, random }: LaneOptions): Lane {
  let underWay = 0;
  let failuresInARow = 0;
  let restsSince = 0;
  let restMs = 0;

  function rests(): boolean {
    const restedMs = now() - restsSince;
    // A clock that was set back ends the rest.
    return restedMs >= 0 && restedMs < restMs;
  }

  return {
    room() {
      if (failuresInARow < DOWN_AFTER) return atOnce - underWay;
      return underWay === 0 && !rests() ? 1 : 0;
    },
    began() {
      underWay += 1;
    },
    ended(how) {
      underWay -= 1;
      if (how === "sent") failuresInARow = 0;
      if (how !== "failed") return;
      failuresInARow += 1;
      if (failuresInARow < DOWN_AFTER) return;
      restsSince = now();
      restMs = waitSeconds(failuresInARow - DOWN_AFTER + 1, random) * 1000;
    },
  };
}

/**
 * The wait after so many failures, the first being 1: 5, 10, 20 s and so on, 10 minutes at most, less some jitter.
 * @internal tested by table
 */
export function waitSeconds(failures: number, random: () => number): number {
  const seconds = Math.min(FIRST_SECONDS * 2 ** (failures - 1), LONGEST_SECONDS);
  return seconds * (1 - JITTER * random());
}
