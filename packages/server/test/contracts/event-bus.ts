import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, test } from "node:test";
import { DOWNLOAD_SCAN_RESULT, SCAN_RESULT } from "@lazaret/contract";
import { type BusEvent, busEvent } from "../../src/deliver/event-bus.ts";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { until } from "../support/until.ts";
import type { Outputs, OutputsKind, ReceivedEvent } from "./outputs.ts";
import { oddText } from "./sample-job.ts";

/** What every `EventBus` does. */
export function eventBusContract({ name, make }: OutputsKind): void {
  describe(`the event bus of ${name}`, () => {
    test("events of both kinds reach a target as they are, though who published them is gone", async () => {
      await using outputs = await make();
      const published = [scanned(oddText), downloaded(oddText)];
      for (const each of published) await outputs.platform.eventBus.publish(each);
      assert.deepEqual(await arrived(outputs, 2), published.map(seen));
    });

    test("those that are published one after the other are handed on in that order", async () => {
      await using outputs = await make();
      const published = Array.from({ length: 25 }, (_, index) => scanned(`file-${index}`));
      for (const each of published) await outputs.platform.eventBus.publish(each);
      assert.deepEqual(await arrived(outputs, published.length), published.map(seen));
    });

    test("many that are published at once, by several processes, all arrive, each once", async () => {
      await using outputs = await make();
      await using other = await outputs.another();
      const keys = Array.from({ length: 30 }, (_, index) => `file-${index}`);
      await Promise.all(
        keys.map((key, index) => (index % 2 ? outputs : other).platform.eventBus.publish(scanned(key))),
      );
      assert.deepEqual(keysOf(await arrived(outputs, keys.length)).toSorted(), keys.toSorted());
    });

    test("one that is published again after a crash arrives once or twice, and is the same", async () => {
      await using outputs = await make();
      await using other = await outputs.another();
      await outputs.platform.eventBus.publish(scanned("again"));
      await other.platform.eventBus.publish(scanned("again"));
      await other.platform.eventBus.publish(scanned("next"));
      await until("the next has arrived", async () => keysOf(await outputs.events()).includes("next"));
      const received = await outputs.events();
      const times = keysOf(received).filter((key) => key === "again").length;
      assert.ok(times === 1 || times === 2, `${times} times`);
      for (const each of received) assert.deepEqual(each, seen(scanned(keysOf([each])[0] ?? "")));
    });

    test("one that cannot be kept is refused with QueueUnavailable, and can be published again", async () => {
      await using outputs = await make();
      {
        await using unwritable = await outputs.unwritable();
        await assert.rejects(unwritable.platform.eventBus.publish(scanned("late")), QueueUnavailable);
      }
      await outputs.platform.eventBus.publish(scanned("late"));
      assert.deepEqual(keysOf(await arrived(outputs, 1)), ["late"]);
    });

    test("one that closes has published what it was given before", async () => {
      await using outputs = await make();
      const other = await outputs.another();
      const published = other.platform.eventBus.publish(scanned("last"));
      await other.platform.eventBus.close();
      await published;
      await other[Symbol.asyncDispose]();
      assert.deepEqual(keysOf(await arrived(outputs, 1)), ["last"]);
    });
  });
}

const origin = { account: "123456789012", region: "us-east-1", now: () => Date.UTC(2026, 10, 15) };

function scanned(key: string): BusEvent {
  const detail = { bucket: "uploads", key, size: 1, status: "clean", action: "no" } as const;
  return busEvent(hash("sha256", `scan of ${key}`), { detailType: SCAN_RESULT, detail }, origin);
}

function downloaded(custom_data: string): BusEvent {
  const detail = {
    download_url: "https://files.example/",
    callback_url: "https://receiver.example/",
    status: "infected",
    finding: "Win.Test",
    custom_data,
  } as const;
  return busEvent(hash("sha256", `download of ${custom_data}`), { detailType: DOWNLOAD_SCAN_RESULT, detail }, origin);
}

/** What a target can see of it on every platform. */
function seen({ source, "detail-type": type, detail }: BusEvent): ReceivedEvent {
  return { source, "detail-type": type, detail };
}

/** As soon as so many are there, and not more. */
async function arrived(outputs: Outputs, count: number): Promise<readonly ReceivedEvent[]> {
  await until(`${count} events have arrived`, async () => (await outputs.events()).length >= count, {
    limitMs: 60_000,
  });
  const received = await outputs.events();
  assert.equal(received.length, count);
  return received;
}

function keysOf(events: readonly ReceivedEvent[]): string[] {
  return events.map(({ detail }) => ("key" in detail ? detail.key : ""));
}
