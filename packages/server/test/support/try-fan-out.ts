import type { EventBus } from "../../src/deliver/event-bus.ts";
import type { FindingsTopic } from "../../src/deliver/findings-topic.ts";
import type { SignCallback } from "../../src/deliver/signature.ts";
import type { Log, LogFields } from "../../src/log.ts";
import { guardedConnector } from "../../src/net/guarded-connector.ts";
import { sqliteBus } from "../../src/platforms/embedded/event-bus.ts";
import { sqliteTopic } from "../../src/platforms/embedded/findings-topic.ts";
import { openJobStore } from "../../src/platforms/embedded/job-store.ts";
import { type FanOut, startFanOut } from "../../src/platforms/shared/messages/fan-out.ts";
import { type OutboxLimits, outboxLimits } from "../../src/platforms/shared/messages/outbox.ts";
import {
  type MailSettings,
  parseEventTargets,
  parseSubscriptions,
} from "../../src/platforms/shared/messages/subscriptions.ts";

export interface TriedFanOut extends FanOut, AsyncDisposable {
  readonly topic: FindingsTopic;
  readonly eventBus: EventBus;
  readonly logged: readonly LogFields[];
}

export interface TryFanOutOptions {
  /** As an operator would write them. */
  subscriptions?: readonly object[];
  targets?: readonly object[];
  /** Milliseconds since 1970; stands still unless somebody moves it. */
  clock?: { now: number };
  publishOnly?: boolean;
  mail?: MailSettings;
  sign?: SignCallback;
  limits?: Partial<OutboxLimits>;
}

/** Topic, bus and fan-out of one process on a data folder: real SQLite, real senders, a told clock and no jitter. */
export async function tryFanOut(dataDir: string, options: TryFanOutOptions): Promise<TriedFanOut> {
  const { subscriptions = [], targets = [], clock = { now: Date.UTC(2026, 0, 1) }, mail, sign, limits } = options;
  const now = (): number => clock.now;
  const store = await openJobStore(dataDir, { now, outboxLimits: { ...outboxLimits, ...limits } });
  const logged: LogFields[] = [];
  const write =
    (level: string) =>
    (event: string, fields: LogFields = {}): void => {
      logged.push({ level, event, ...fields });
    };
  const log: Log = Object.assign(write("info"), { error: write("error"), debug: () => {} });
  const sending = {
    dataDir,
    connector: (signal: AbortSignal) => guardedConnector({ guard: { mayDial: () => true } }, signal),
    version: "1.2.3",
    log,
    now,
    random: () => 0,
    ...(mail && { mail }),
    ...(sign && { sign }),
  };
  await using undo = new AsyncDisposableStack();
  undo.defer(store.close);
  const stackName = "prod";
  const subscribed = parsed(parseSubscriptions(JSON.stringify(subscriptions)));
  const targeted = parsed(parseEventTargets(JSON.stringify(targets)));
  const fanOut = startFanOut({
    outbox: store.outbox,
    stackName,
    subscriptions: subscribed,
    targets: targeted,
    sending: options.publishOnly ? undefined : sending,
  });
  undo.move();
  return {
    ...fanOut,
    topic: sqliteTopic(store, { stackName, subscriptions: subscribed, now }),
    eventBus: sqliteBus(store, targeted),
    logged,
    async [Symbol.asyncDispose]() {
      await fanOut.stop(0);
      await store.close();
    },
  };
}

function parsed<T>(setting: { value: T } | { problem: string }): T {
  if ("problem" in setting) throw new Error(setting.problem);
  return setting.value;
}
