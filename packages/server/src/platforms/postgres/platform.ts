import { setTimeout as pause } from "node:timers/promises";
import { messageId } from "../../deliver/event-bus.ts";
import type { SigningKeys } from "../../deliver/signing-keys.ts";
import type { Log } from "../../log.ts";
import type { Platform } from "../platform.ts";
import { type FanOutOptions, type SendingParts, startFanOut } from "../shared/messages/fan-out.ts";
import { postgresBookmarks } from "./bookmarks.ts";
import { DatabaseUnavailable } from "./database/database-unavailable.ts";
import { weaknessesOf } from "./database/durability.ts";
import { postgresBus } from "./event-bus.ts";
import { postgresTopic } from "./findings-topic.ts";
import { type JobStoreOptions, openJobStore } from "./job-store.ts";
import { postgresKeys } from "./signing-keys.ts";

export interface PostgresOptions extends Omit<JobStoreOptions, "outboxLimits"> {
  stackName: string;
  now: () => number;
  log: Log;
  /** Who receives what is published. */
  receivers: Pick<FanOutOptions, "subscriptions" | "targets">;
  /** How it is sent, with the keys of this platform; undefined sends nothing: another process does. */
  sending(keys: SigningKeys): Promise<SendingParts | undefined>;
}

/** Messages under way when everything stops; the rest is sent by another process. */
const FAN_OUT_GRACE_MS = 2000;

/** At a start nobody waits for an answer; a server on a machine where all starts at once may need a while for its first. */
const START_TRIED_FOR_MS = 20_000;
const START_PAUSE_MS = 250;

/**
 * Everything in one PostgreSQL database, for any number of processes on any number of machines. One that does not answer in time is
 * asked again for a while; one that is not there is told at once. Throws `DatabaseUnavailable`.
 */
export async function postgresPlatform(options: PostgresOptions): Promise<Platform> {
  const givenUpAt = performance.now() + START_TRIED_FOR_MS;
  for (let told = false; ; told = true) {
    try {
      return await openPlatform(options);
    } catch (error) {
      const mayAnswer = error instanceof DatabaseUnavailable && ["late", "silent"].includes(error.kind);
      if (!mayAnswer || performance.now() > givenUpAt) throw error;
      const hint = `${error.hint}; it is asked again for ${START_TRIED_FOR_MS / 1000} seconds`;
      if (!told) options.log.error("database", { error: error.message, hint });
      await pause(START_PAUSE_MS);
    }
  }
}

async function openPlatform(options: PostgresOptions): Promise<Platform> {
  const { stackName, now, receivers, secretKey, log } = options;
  await using undo = new AsyncDisposableStack();
  const store = await openJobStore(options);
  undo.defer(store.close);
  for (const { error, hint } of await weaknessesOf(store.connections)) log.error("database", { error, hint });
  const signingKeys = postgresKeys(store, stackName);
  const sending = await options.sending(signingKeys);
  const fanOut = startFanOut({ outbox: store.outbox, stackName, ...receivers, sending });
  undo.move();
  const { queue, results, deadLetters, browser, history, findings, callbackFailures, usage } = store;
  const { access, audit, sharedCounts, tryToWrite } = store;
  return {
    queue,
    results,
    deadLetters,
    browser,
    history,
    findings,
    callbackFailures,
    usage,
    access,
    audit,
    sharedCounts,
    tryToWrite,
    bookmarks: postgresBookmarks(store),
    signingKeys,
    topic: postgresTopic(store, { stackName, subscriptions: receivers.subscriptions, now }),
    eventBus: postgresBus(store, receivers.targets),
    receiverCounts: fanOut.counts,
    consoleSecret: async () => store.sealer.consoleSecret,
    tenantId: messageId(Buffer.from(secretKey).toString("hex"), "tenant"),
    account: "000000000000",
    region: "local",
    async close() {
      await fanOut.stop(FAN_OUT_GRACE_MS);
      await store.close();
    },
  };
}
