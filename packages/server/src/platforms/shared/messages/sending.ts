import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../../log.ts";
import { type Lane, lane, waitSeconds } from "./lane.ts";
import type { Outbox, OutboxLease } from "./outbox.ts";
import { failedWith, type Sender } from "./senders/sender.ts";
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
  const underWay = new Set<Promise<void>>();
  /** By receiver, when it was last looked at. */
  let dropped: ReadonlyMap<string, number> | undefined;
  let sweptAt: number | undefined;
  /** Ends the wait for messages: there is room for more, or we stop. */
  let look = new AbortController();

  function routeTo(receiver: Receiver): Route {
    const sender = senderFor(receiver);
    return { receiver, sender, lane: lane({ atOnce: sender.atOnce, now, random }) };
  }

  async function takeForever(): Promise<void> {
    while (!stopTaking.signal.aborted) {
      try {
        look = new AbortController();
        await sweepNowAndThen();
        const wanted = [...routes].map(([id, { lane }]) => ({ receiver: id, limit: lane.room() }));
        const open = wanted.filter(({ limit }) => limit > 0);
        const leases = open.length === 0 ? [] : await outbox.take(open);
        for (const lease of leases) begin(lease);
        const looked = AbortSignal.any([look.signal, stopTaking.signal]);
        if (leases.length === 0) {
          await outbox.wait(
            open.map(({ receiver }) => receiver),
            looked,
          );
        }
      } catch (error) {
        log.error("outbox", { error: error instanceof Error ? error.message : String(error) });
        await pause(AFTER_FAULT_MS, undefined, { signal: stopTaking.signal }).catch(() => {});
      }
    }
  }

  function begin(lease: OutboxLease): void {
    const route = routes.get(lease.message.receiver);
    if (!route) return;
    const work: Promise<void> = send(lease, route).finally(() => {
      underWay.delete(work);
      look.abort();
    });
    underWay.add(work);
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
    const { id, protocol, place } = receiver;
    log("send", {
      message: lease.message.id,
      receiver: id,
      protocol,
      endpoint: place,
      try: lease.failures + 1,
      outcome: how,
      status: outcome.statusCode,
      code: outcome.kind === "failed" ? outcome.code : undefined,
      again_s: how === "failed" ? Math.round(afterSeconds) : undefined,
      // What could not be written is sent again when the lease runs out.
      fault: kept === true ? undefined : kept || "lease lost",
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
      const endpoint = routes.get(receiver)?.receiver.place;
      if (messages > 0) log.error("messages dropped", { receiver, endpoint, messages });
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
