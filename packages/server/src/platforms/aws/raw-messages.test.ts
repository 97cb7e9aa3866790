import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { rawChecks as checks } from "../../../test/support/aws/raw-checks.ts";
import { type RawMessage, type RawSubmission, readRawMessage } from "./raw-messages.ts";

function read(message: unknown, changed: Partial<typeof checks> = {}): RawMessage {
  return readRawMessage(JSON.stringify(message), { ...checks, ...changed });
}

function jobsOf(message: unknown): RawSubmission[] {
  const raw = read(message);
  assert.equal(raw.kind, "jobs");
  assert.deepEqual(raw.kind === "jobs" && raw.problems, []);
  return raw.kind === "jobs" ? raw.submissions : [];
}

function reasonOf(message: unknown, changed: Partial<typeof checks> = {}): string {
  const raw = read(message, changed);
  assert.equal(raw.kind, "garbage");
  return raw.kind === "garbage" ? raw.reason : "";
}

/** As S3 sends it, with the fields that nobody needs here. */
function s3Event(object: Record<string, unknown>, eventName = "ObjectCreated:Put"): Record<string, unknown> {
  return {
    eventVersion: "2.1",
    eventSource: "aws:s3",
    awsRegion: "eu-west-1",
    eventTime: "2026-01-01T00:00:00.000Z",
    eventName,
    userIdentity: { principalId: "EXAMPLE" },
    s3: {
      s3SchemaVersion: "1.0",
      configurationId: "scan",
      bucket: { name: "uploads", ownerIdentity: { principalId: "EXAMPLE" }, arn: "arn:aws:s3:::uploads" },
      object: { size: 1024, eTag: "d41d8cd98f00b204e9800998ecf8427e", sequencer: "0A1B2C3D4E5F678901", ...object },
    },
  };
}

function eventBridgeEvent(object: Record<string, unknown>, detailType = "Object Created"): Record<string, unknown> {
  return {
    version: "0",
    id: "2d4eba74-fd51-3966-4bfa-b013c9da8ff1",
    "detail-type": detailType,
    source: "aws.s3",
    account: "123456789012",
    time: "2026-01-01T00:00:00Z",
    region: "eu-west-1",
    resources: ["arn:aws:s3:::uploads"],
    detail: { version: "0", bucket: { name: "uploads" }, object: { size: 1024, etag: "d41d8", ...object } },
  };
}

const inSns = (message: unknown): Record<string, unknown> => ({
  Type: "Notification",
  MessageId: "dc1e94d9-56c5-5e96-808d-cc7f68faa162",
  TopicArn: "arn:aws:sns:eu-west-1:123456789012:uploads",
  Message: JSON.stringify(message),
  Timestamp: "2026-01-01T00:00:00.000Z",
});

const object = (key: string, version?: string): RawSubmission => ({
  source: { kind: "object", bucket: "uploads", key, ...(version !== undefined && { version }) },
});

describe("messages of other producers", () => {
  test("a notification of S3 names an object, its key as forms are encoded", () => {
    for (const [encoded, key] of [
      ["report.pdf", "report.pdf"],
      ["a+b%2Bc.pdf", "a b+c.pdf"],
      ["f%C3%BCr/%F0%9F%91%BE.bin", "für/👾.bin"],
      ["100%25", "100%"],
      ["folder/", "folder/"],
    ] as const) {
      assert.deepEqual(jobsOf({ Records: [s3Event({ key: encoded })] }), [object(key)]);
    }
    assert.deepEqual(jobsOf({ Records: [s3Event({ key: "a", versionId: "v1" })] }), [object("a", "v1")]);
  });

  test("every way to create an object counts, and nothing else does", () => {
    for (const how of ["Put", "Post", "Copy", "CompleteMultipartUpload"]) {
      assert.deepEqual(jobsOf({ Records: [s3Event({ key: "a" }, `ObjectCreated:${how}`)] }), [object("a")]);
      assert.deepEqual(jobsOf({ Records: [s3Event({ key: "a" }, `s3:ObjectCreated:${how}`)] }), [object("a")]);
    }
    for (const other of [
      "ObjectRemoved:Delete",
      "ObjectTagging:Put",
      "ObjectRestore:Completed",
      "LifecycleExpiration:Delete",
    ]) {
      assert.deepEqual(read({ Records: [s3Event({ key: "a" }, other)] }), { kind: "nothing" });
    }
  });

  test("S3's test of the connection asks for nothing", () => {
    const tried = { Service: "Amazon S3", Event: "s3:TestEvent", Time: "2026-01-01T00:00:00.000Z", Bucket: "uploads" };
    assert.deepEqual(read(tried), { kind: "nothing" });
    assert.deepEqual(read(inSns(tried)), { kind: "nothing" });
  });

  test("several objects in one message are several jobs", () => {
    const message = {
      Records: [s3Event({ key: "a" }), s3Event({ key: "b" }, "ObjectRemoved:Delete"), s3Event({ key: "c" })],
    };
    assert.deepEqual(jobsOf(message), [object("a"), object("c")]);
  });

  test("an event of EventBridge names an object, its key as it is", () => {
    assert.deepEqual(jobsOf(eventBridgeEvent({ key: "a+b%20c.pdf", "version-id": "v1" })), [
      object("a+b%20c.pdf", "v1"),
    ]);
    assert.deepEqual(jobsOf(eventBridgeEvent({ key: "a" })), [object("a")]);
    for (const other of ["Object Deleted", "Object Tags Added", "Object ACL Updated"]) {
      assert.deepEqual(read(eventBridgeEvent({ key: "a" }, other)), { kind: "nothing" });
    }
    assert.match(reasonOf({ ...eventBridgeEvent({ key: "a" }), source: "aws.ec2" }), /not one of S3/);
  });

  test("SNS wraps any of them", () => {
    assert.deepEqual(jobsOf(inSns({ Records: [s3Event({ key: "a+b" })] })), [object("a b")]);
    assert.deepEqual(jobsOf(inSns(eventBridgeEvent({ key: "a+b" }))), [object("a+b")]);
    assert.deepEqual(jobsOf(inSns({ objects: [{ bucket: "uploads", key: "a" }] })), [object("a")]);
    assert.match(reasonOf(inSns(inSns(inSns({ objects: [] })))), /wrapped too often/);
    assert.match(reasonOf({ ...inSns({}), Type: "SubscriptionConfirmation" }), /not a notification/);
  });

  test("objects say what comes back with the answer", () => {
    const [job] = jobsOf({
      objects: [{ bucket: "uploads", key: "a", version: "v1", trace_id: "order-1", custom_data: '{"n":1}' }],
    });
    assert.deepEqual(job, { ...object("a", "v1"), traceId: "order-1", customData: '{"n":1}' });
  });

  test("downloads say all that a request can say", () => {
    const [job, bare] = jobsOf({
      downloads: [
        {
          download_url: "https://files.example/a",
          download_headers: { Authorization: "Bearer x" },
          callback_url: "https://receiver.example/scans",
          callback_headers: { "X-Api-Key": "y" },
          trace_id: "order-1",
          custom_data: "z",
        },
        { download_url: "https://files.example/b" },
      ],
    });
    assert.deepEqual(job, {
      source: { kind: "url", url: "https://files.example/a", headers: { Authorization: "Bearer x" } },
      callback: { url: "https://receiver.example/scans", headers: { "X-Api-Key": "y" } },
      traceId: "order-1",
      customData: "z",
    });
    assert.deepEqual(bare, { source: { kind: "url", url: "https://files.example/b", headers: {} } });
  });

  test("what is wrong with one of several is told, and the others are scanned", () => {
    const raw = read({ objects: [{ bucket: "uploads", key: "a" }, { bucket: "uploads" }, 7] });
    assert.deepEqual(raw, {
      kind: "jobs",
      submissions: [object("a")],
      problems: ["objects[1] has no key", "objects[2] is not an object"],
    });
  });

  const download = (fields: Record<string, unknown>) => ({
    downloads: [{ download_url: "https://files.example/a", ...fields }],
  });
  for (const [name, message, reason] of [
    ["a number", 7, /not a JSON object/],
    ["a list", [], /not a JSON object/],
    ["an object of no known kind", { hello: "world" }, /neither Records, detail-type, objects nor downloads/],
    ["no objects", { objects: [] }, /objects is empty/],
    [
      "a record of another service",
      { Records: [{ eventSource: "aws:sns", eventName: "x", Sns: {} }] },
      /no event of S3/,
    ],
    ["a record without a name", { Records: [{ s3: {} }] }, /has no eventName/],
    ["a key that is not encoded", { Records: [s3Event({ key: "100%" })] }, /not form-url-encoded/],
    ["a key that is no string", { objects: [{ bucket: "uploads", key: 7 }] }, /has no key/],
    ["a key with a NUL", { objects: [{ bucket: "uploads", key: "a\0" }] }, /NUL/],
    ["a key that is too long", { objects: [{ bucket: "uploads", key: "é".repeat(513) }] }, /too long/],
    ["a bucket that is a path", { objects: [{ bucket: "../x", key: "a" }] }, /cannot be/],
    ["a version that is a number", { objects: [{ bucket: "uploads", key: "a", version: 1 }] }, /version/],
    ["a trace id that is too long", { objects: [{ bucket: "b", key: "a", trace_id: "x".repeat(257) }] }, /trace_id/],
    ["a trace id with a line break", { objects: [{ bucket: "b", key: "a", trace_id: "x\ny" }] }, /trace_id/],
    ["custom data that is too large", download({ custom_data: "é".repeat(8193) }), /custom_data that is too large/],
    ["custom data that is an object", download({ custom_data: {} }), /custom_data that is not a string/],
    ["a download without a URL", { downloads: [{}] }, /has no download_url/],
    ["a file URL", { downloads: [{ download_url: "file:///etc/passwd" }] }, /download_url that is refused/],
    [
      "a metadata address",
      { downloads: [{ download_url: "http://169.254.169.254/" }] },
      /download_url that is refused/,
    ],
    ["a URL that is too long", { downloads: [{ download_url: `https://x.example/${"a".repeat(2048)}` }] }, /too long/],
    ["a plain http callback", download({ callback_url: "http://receiver.example/" }), /plain http/],
    ["headers that are a list", download({ download_headers: [] }), /not an object/],
    [
      "a header with a line break",
      download({ download_headers: { "X-A": "b\r\nc: d" } }),
      /download_headers that are refused/,
    ],
    [
      "a header whose value is a number",
      download({ download_headers: { "X-A": 1 } }),
      /download_headers that are refused: X-A in download_headers is not a string/,
    ],
    ["a header of the connection", download({ download_headers: { Host: "x" } }), /download_headers that are refused/],
  ] as const) {
    test(`is told what is wrong with ${name}`, () => {
      assert.match(reasonOf(message), reason);
    });
  }

  test("text that is not JSON is told to be so", () => {
    for (const text of ["", "hello", "{", "\u0000", '{"Records": [']) {
      assert.deepEqual(readRawMessage(text, checks), { kind: "garbage", reason: "the message is not JSON" });
    }
  });

  test("downloads are refused where they are turned off; objects are not", () => {
    assert.match(reasonOf(download({}), { allowDownloads: false }), /turned off/);
    assert.equal(read({ objects: [{ bucket: "uploads", key: "a" }] }, { allowDownloads: false }).kind, "jobs");
  });
});

/** Anything, and often something that is nearly right. */
const leaf = fc.oneof(
  fc.constantFrom(undefined, null, true, 0, "", "a", "%", "a+b", "\ud83d", "Notification", "aws.s3", "Object Created"),
  fc.string({ unit: "binary" }),
  fc.webUrl(),
);
const { message: nearly } = fc.letrec<{ message: unknown; entry: unknown }>((tie) => ({
  message: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.record(
      {
        Records: fc.array(tie("entry"), { maxLength: 3 }),
        objects: fc.oneof(leaf, fc.array(tie("entry"), { maxLength: 3 })),
        downloads: fc.array(tie("entry"), { maxLength: 3 }),
        Type: leaf,
        Message: fc.oneof(
          leaf,
          tie("message").map((message) => JSON.stringify(message)),
        ),
        Event: leaf,
        source: leaf,
        "detail-type": leaf,
        detail: tie("entry"),
      },
      { requiredKeys: [] },
    ),
  ),
  entry: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.dictionary(
      fc.constantFrom(
        ...["eventName", "s3", "bucket", "object", "key", "name", "version", "versionId", "version-id", "__proto__"],
        ...["trace_id", "custom_data", "download_url", "callback_url", "download_headers", "callback_headers"],
      ),
      fc.oneof(leaf, tie("entry")),
    ),
  ),
}));

test("whatever is sent is understood or refused with a reason, and what is understood is within the limits", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        nearly.map((value) => JSON.stringify(value) ?? ""),
        fc.string({ unit: "binary" }),
      ),
      (text) => {
        const raw = readRawMessage(text, checks);
        if (raw.kind === "garbage") assert.ok(raw.reason.length > 5 && raw.reason.length < 2000);
        if (raw.kind !== "jobs") return;
        for (const { source, traceId = "-", customData = "" } of raw.submissions) {
          assert.ok(
            source.kind === "object" ? source.key !== "" && source.bucket !== "" : /^https?:/i.test(source.url),
          );
          assert.ok(traceId !== "" && traceId.isWellFormed() && Buffer.byteLength(customData) <= 16_384);
        }
      },
    ),
    { numRuns: 2000 },
  );
});

test("any key comes out of a notification as it was, however it was encoded", () => {
  const encode = (key: string): string => encodeURIComponent(key).replaceAll("%20", "+");
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }), (key) => {
      fc.pre(!key.includes("\0") && key.isWellFormed());
      assert.deepEqual(jobsOf({ Records: [s3Event({ key: encode(key) })] }), [object(key)]);
    }),
  );
});
