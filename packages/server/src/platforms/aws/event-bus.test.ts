import assert from "node:assert/strict";
import { before, test } from "node:test";
import { useCredentials } from "../../../test/support/aws/credentials.ts";
import { type JsonServices, jsonServices, ServiceError } from "../../../test/support/aws/json-services.ts";
import { atTheEnd } from "../../../test/support/leftovers.ts";
import type { BusEvent } from "../../deliver/event-bus.ts";
import { QueueUnavailable } from "../../model/faults.ts";
import { eventBridge } from "./event-bus.ts";

let services: JsonServices;
before(async () => {
  useCredentials();
  services = await jsonServices();
});
atTheEnd(() => services[Symbol.asyncDispose]());

const options = { region: "us-east-1", busName: "results", retryMs: 1 };

function event(key: string): BusEvent {
  return {
    version: "0",
    id: key,
    "detail-type": "Scan Result",
    source: "com.scanner",
    account: "123456789012",
    time: "2026-11-15T12:00:00.000Z",
    region: "us-east-1",
    resources: [],
    detail: { bucket: "b", key, size: 1, status: "clean", action: "no" },
  };
}

const keys = (): string[] => services.events.map(({ Detail }) => JSON.parse(Detail).key);

test("events published at once share calls of at most ten", async () => {
  const bus = eventBridge({ ...options, endpoint: services.endpoint });
  const calls = services.asked.length;
  const wanted = Array.from({ length: 25 }, (_, index) => `batched-${index}`);
  await Promise.all(wanted.map((key) => bus.publish(event(key))));
  await bus.close();
  assert.deepEqual(
    keys().filter((key) => key.startsWith("batched")),
    wanted,
  );
  assert.equal(services.asked.length - calls, 3);
});

test("an entry that is refused is tried again alone, and only it", async () => {
  const bus = eventBridge({ ...options, endpoint: services.endpoint });
  let refusals = 2;
  services.refuseEvent = ({ Detail }) => {
    if (JSON.parse(Detail).key !== "refused-1" || refusals === 0) return undefined;
    refusals -= 1;
    return "ThrottlingException";
  };
  await Promise.all(["refused-0", "refused-1", "refused-2"].map((key) => bus.publish(event(key))));
  await bus.close();
  services.refuseEvent = () => undefined;
  assert.deepEqual(
    keys()
      .filter((key) => key.startsWith("refused"))
      .toSorted(),
    ["refused-0", "refused-1", "refused-2"],
  );
});

test("an entry that is refused for good, and a service that is down, are faults: the job runs again", async () => {
  const bus = eventBridge({ ...options, endpoint: services.endpoint });
  services.refuseEvent = ({ Detail }) => (JSON.parse(Detail).key === "never" ? "InternalFailure" : undefined);
  const [good, bad] = await Promise.allSettled([bus.publish(event("good")), bus.publish(event("never"))]);
  assert.equal(good.status, "fulfilled");
  assert.ok(bad.status === "rejected" && bad.reason instanceof QueueUnavailable);
  assert.match(bad.reason.message, /cannot publish to the event bus results: InternalFailure/);
  services.refuseEvent = () => undefined;
  services.fault = () => new ServiceError("AccessDeniedException");
  await assert.rejects(bus.publish(event("down")), /AccessDeniedException/);
  services.fault = () => undefined;
  await bus.close();
});
