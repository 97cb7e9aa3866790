import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readTraces, type TracesAsked } from "./otel-environment.ts";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

function asked(env: Record<string, string>): TracesAsked {
  const read = readTraces({ ...endpoint, ...env });
  assert.ok(read.kind === "on");
  return read;
}

describe("traces", () => {
  test("are off unless an endpoint or the exporter is set, and when they are switched off", () => {
    const off = [
      {},
      { OTEL_SERVICE_NAME: "x", OTEL_RESOURCE_ATTRIBUTES: "a=b", OTEL_TRACES_SAMPLER: "always_on" },
      { OTEL_EXPORTER_OTLP_ENDPOINT: " " },
      { ...endpoint, OTEL_SDK_DISABLED: "TRUE" },
      { ...endpoint, OTEL_TRACES_EXPORTER: "none" },
    ];
    for (const env of off) assert.deepEqual(readTraces(env), { kind: "off" });
    const on = [
      endpoint,
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://collector/v1/traces" },
      { OTEL_TRACES_EXPORTER: "otlp" },
      { ...endpoint, OTEL_SDK_DISABLED: "false" },
    ];
    for (const env of on) assert.equal(readTraces(env).kind, "on");
  });

  test("are refused with a hint, and no secret, where they are asked for in a way that there is none for", () => {
    const refused = [
      { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
      { OTEL_TRACES_EXPORTER: "console" },
      { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318/secret" },
    ];
    for (const env of refused) {
      const read = readTraces(env);
      assert.ok(read.kind === "refused" && read.hint !== "" && !read.error.includes("secret"));
    }
    assert.equal(asked({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://u:p@c:1/x?key=k" }).endpoint, "https://c:1/x");
  });

  test("are sampled as the parent was, unless somebody wants it otherwise", () => {
    const sampler = (name: string, arg = "0.25") =>
      asked({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: arg }).sampler;
    assert.deepEqual(asked({}).sampler, { parentBased: true, root: "always_on", ratio: 1 });
    assert.deepEqual(sampler("parentbased_traceidratio"), { parentBased: true, root: "traceidratio", ratio: 0.25 });
    assert.deepEqual(sampler("always_off"), { parentBased: false, root: "always_off", ratio: 1 });
    assert.deepEqual(sampler("traceidratio", "7"), { parentBased: false, root: "traceidratio", ratio: 1 });
    assert.deepEqual(sampler("xray"), { parentBased: true, root: "always_on", ratio: 1 });
  });

  test("have a queue with a bound, and what is no number is said and passed over", () => {
    assert.deepEqual(asked({}).batch, {
      maxQueueSize: 2048,
      maxExportBatchSize: 512,
      scheduledDelayMillis: 5000,
      exportTimeoutMillis: 30_000,
    });
    const { batch, passedOver } = asked({ OTEL_BSP_MAX_QUEUE_SIZE: "100", OTEL_BSP_SCHEDULE_DELAY: "soon" });
    assert.deepEqual([batch.maxQueueSize, batch.maxExportBatchSize, batch.scheduledDelayMillis], [100, 100, 5000]);
    assert.deepEqual(passedOver, ["OTEL_BSP_SCHEDULE_DELAY: must be a whole number from 1 to 600000"]);
    assert.equal(asked({ OTEL_BSP_MAX_QUEUE_SIZE: "99999999" }).batch.maxQueueSize, 2048);
  });

  test("are passed on by tracecontext, or not at all", () => {
    assert.equal(asked({}).propagate, true);
    assert.equal(asked({ OTEL_PROPAGATORS: "none" }).propagate, false);
    const { propagate, passedOver } = asked({ OTEL_PROPAGATORS: "b3" });
    assert.deepEqual([propagate, passedOver.length], [false, 1]);
  });
});
