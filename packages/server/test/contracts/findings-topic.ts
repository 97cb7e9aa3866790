import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, test } from "node:test";
import type { FindingsMessage } from "@lazaret/contract";
import { attributesOf, type PublishedFinding } from "../../src/deliver/findings-topic.ts";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { emailText } from "../../src/platforms/shared/finding-text.ts";
import { until } from "../support/until.ts";
import type { Outputs, OutputsKind, ReceivedFinding } from "./outputs.ts";
import { oddText } from "./sample-job.ts";

/** What every `FindingsTopic` does. */
export function findingsTopicContract({ name, make }: OutputsKind): void {
  describe(`the findings topic of ${name}`, () => {
    test("a finding reaches a subscriber with its message and attributes, though who published it is gone", async () => {
      await using outputs = await make();
      const published = finding("reports/q3.pdf");
      await outputs.platform.topic.publish(published);
      const [received] = await arrived(outputs, 1);
      assert.deepEqual(JSON.parse(received?.text ?? ""), published.message);
      assert.deepEqual(
        received?.attributes,
        Object.fromEntries(Object.entries(published.attributes).map(([key, value]) => [key, String(value)])),
      );
    });

    test("every character of a message stays as it was", async () => {
      await using outputs = await make();
      const published = finding(oddText, { custom_data: oddText });
      await outputs.platform.topic.publish(published);
      const [received] = await arrived(outputs, 1);
      assert.deepEqual(JSON.parse(received?.text ?? ""), published.message);
    });

    test("with an installation that knows no JSON here the message is what emails say", async () => {
      await using outputs = await make();
      const { message, ...rest } = finding("old.pdf");
      await outputs.platform.topic.publish({ ...rest, message, body: "text" });
      const [received] = await arrived(outputs, 1);
      assert.equal(
        received?.text.replace(/^"(.*)"$/s, (all) => JSON.parse(all)),
        emailText(message),
      );
    });

    test("many that are published at once, by several processes, all arrive, each once", async () => {
      await using outputs = await make();
      await using other = await outputs.another();
      const keys = Array.from({ length: 30 }, (_, index) => `file-${index}`);
      await Promise.all(keys.map((key, index) => (index % 2 ? outputs : other).platform.topic.publish(finding(key))));
      assert.deepEqual(keysOf(await arrived(outputs, keys.length)).toSorted(), keys.toSorted());
    });

    test("one that is published again after a crash arrives once or twice, and is the same", async () => {
      await using outputs = await make();
      await using other = await outputs.another();
      await outputs.platform.topic.publish(finding("again"));
      await other.platform.topic.publish(finding("again"));
      await other.platform.topic.publish(finding("next"));
      await until("the next has arrived", async () => keysOf(await outputs.topicFindings()).includes("next"));
      const received = await outputs.topicFindings();
      const times = keysOf(received).filter((key) => key === "again").length;
      assert.ok(times === 1 || times === 2, `${times} times`);
      for (const { text } of received) {
        const { key, ...rest } = JSON.parse(text);
        assert.deepEqual(rest, JSON.parse(JSON.stringify({ ...finding(key).message, key: undefined })));
      }
    });

    test("one that cannot be kept is refused with QueueUnavailable, and can be published again", async () => {
      await using outputs = await make();
      {
        await using unwritable = await outputs.unwritable();
        await assert.rejects(unwritable.platform.topic.publish(finding("late")), QueueUnavailable);
      }
      await outputs.platform.topic.publish(finding("late"));
      assert.deepEqual(keysOf(await arrived(outputs, 1)), ["late"]);
    });
  });
}

/** The same for the same key. */
function finding(key: string, parts: Partial<FindingsMessage> = {}): PublishedFinding {
  const message: FindingsMessage = {
    bucket: "uploads",
    key,
    size: 4096,
    status: "infected",
    action: "tag",
    finding: "Win.Test",
    ...parts,
  };
  return { id: hash("sha256", key), message, attributes: attributesOf(message), body: "json" };
}

/** As soon as so many are there, and not more. */
async function arrived(outputs: Outputs, count: number): Promise<readonly ReceivedFinding[]> {
  await until(`${count} findings have arrived`, async () => (await outputs.topicFindings()).length >= count, {
    limitMs: 60_000,
  });
  const received = await outputs.topicFindings();
  assert.equal(received.length, count);
  return received;
}

function keysOf(findings: readonly ReceivedFinding[]): string[] {
  return findings.map(({ text }) => JSON.parse(text).key);
}
