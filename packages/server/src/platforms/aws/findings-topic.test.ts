import assert from "node:assert/strict";
import { test } from "node:test";
import { snsAttributes } from "./findings-topic.ts";

test("attributes that SNS would refuse are made such that it takes them", () => {
  const attributes = { bucket: "b", key: "a\0b\tc\ufffed é", status: "no", action: "no", finding: "", size: 7 };
  assert.deepEqual(snsAttributes(attributes), {
    bucket: { DataType: "String", StringValue: "b" },
    key: { DataType: "String", StringValue: "a#b#c#d é" },
    status: { DataType: "String", StringValue: "no" },
    action: { DataType: "String", StringValue: "no" },
    size: { DataType: "Number", StringValue: "7" },
  });
});
