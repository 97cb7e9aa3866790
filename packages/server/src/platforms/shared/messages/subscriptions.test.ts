import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseEventTargets, parseMailFrom, parseSmtpUrl, parseSubscriptions } from "./subscriptions.ts";

function problem(entries: unknown): string | undefined {
  const parsed = parseSubscriptions(JSON.stringify(entries));
  return "problem" in parsed ? parsed.problem : undefined;
}

describe("subscriptions", () => {
  it("are read from a JSON list; none from an empty text", () => {
    const parsed = parseSubscriptions(
      JSON.stringify([
        { protocol: "https", endpoint: "https://app.example.com/findings?token=secret", filterPolicy: { size: [1] } },
        { protocol: "http", endpoint: "http://127.0.0.1:9000" },
        { protocol: "email", endpoint: "soc@example.com" },
        { protocol: "file", endpoint: "findings.jsonl" },
      ]),
    );
    assert.ok("value" in parsed);
    assert.deepEqual(
      parsed.value.map(({ protocol, endpoint, shownEndpoint, filterPolicy }) => [
        protocol,
        endpoint,
        shownEndpoint,
        filterPolicy?.size,
      ]),
      [
        ["https", "https://app.example.com/findings?token=secret", "https://app.example.com/findings", 1],
        ["http", "http://127.0.0.1:9000", "http://127.0.0.1:9000/", undefined],
        ["email", "soc@example.com", "soc@example.com", undefined],
        ["file", "findings.jsonl", "findings.jsonl", undefined],
      ],
    );
    assert.deepEqual(parseSubscriptions(" "), { value: [] });
    assert.deepEqual(parseSubscriptions("[]"), { value: [] });
  });

  it("have ids that stay the same while protocol and endpoint do, and tell nothing", () => {
    const idOf = (entry: object, parse = parseSubscriptions): string | undefined => {
      const parsed = parse(JSON.stringify([entry]));
      return "value" in parsed ? parsed.value[0]?.id : undefined;
    };
    const plain = idOf({ protocol: "file", endpoint: "out.jsonl" });
    assert.match(plain ?? "", /^[0-9a-f]{16}$/);
    assert.equal(idOf({ protocol: "file", endpoint: "out.jsonl", filterPolicy: { status: ["no"] } }), plain);
    assert.notEqual(idOf({ protocol: "file", endpoint: "other.jsonl" }), plain);
    assert.notEqual(idOf({ protocol: "file", endpoint: "out.jsonl" }, parseEventTargets), plain);
  });

  const wrong: readonly [entry: unknown, problem: string][] = [
    ["x", "entry 1: must be an object"],
    [{ protocol: "file" }, "entry 1: endpoint must be a string"],
    [{ protocol: "sms", endpoint: "+1" }, "entry 1: protocol must be one of https, http, email, file"],
    [
      { protocol: "file", endpoint: "x", filterpolicy: {} },
      "entry 1: filterpolicy is not known; an entry has protocol, endpoint, filterPolicy, format",
    ],
    [{ protocol: "file", endpoint: "x", format: "sns" }, "entry 1: format must be one of message, envelope"],
    [
      { protocol: "email", endpoint: "soc@example.com", format: "envelope" },
      "entry 1: format envelope is not for emails",
    ],
    [{ protocol: "https", endpoint: "http://app.example.com" }, "entry 1: endpoint must be an https URL"],
    [{ protocol: "https", endpoint: "app.example.com" }, "entry 1: endpoint must be an https URL"],
    [{ protocol: "https", endpoint: "https://app.example.com/a b" }, "entry 1: endpoint must be an https URL"],
    [{ protocol: "https", endpoint: "https://a%ff:b@app.example.com/" }, "entry 1: endpoint must be an https URL"],
    [
      { protocol: "http", endpoint: "http://app.example.com" },
      "entry 1: endpoint must be https; plain http is for this machine only",
    ],
    [
      { protocol: "http", endpoint: "http://127.0.0.1.example.com" },
      "entry 1: endpoint must be https; plain http is for this machine only",
    ],
    [{ protocol: "email", endpoint: "a@b.c, d@e.f" }, "entry 1: endpoint must be one address, as name@example.com"],
    [{ protocol: "email", endpoint: "a@b.c\r\nBcc: d" }, "entry 1: endpoint must be one address, as name@example.com"],
    [{ protocol: "file", endpoint: "" }, "entry 1: endpoint must be the path of a file"],
    [{ protocol: "file", endpoint: "folder/" }, "entry 1: endpoint must be the path of a file"],
    [
      { protocol: "file", endpoint: "x", filterPolicy: { status: [] } },
      "entry 1: filterPolicy: status must have a list of one or more values",
    ],
  ];
  for (const [entry, expected] of wrong) {
    it(`are refused with ${JSON.stringify(entry)}`, () => assert.equal(problem([entry]), expected));
  }

  it("are refused with everything that is wrong, entry by entry", () => {
    assert.equal(
      problem([
        { protocol: "sms" },
        { protocol: "file", endpoint: "x" },
        { protocol: "file", endpoint: "x", filterPolicy: { size: ["1"], status: [1] } },
        { protocol: "file", endpoint: "x" },
      ]),
      "entry 1: protocol must be one of https, http, email, file; entry 1: endpoint must be a string; " +
        'entry 3: filterPolicy: size "1": the attribute is a number, and so must be its values; ' +
        "entry 3: filterPolicy: status 1: the attribute is a string, and so must be its values; " +
        "entry 4: has the same endpoint as entry 2; put what it wants into one filter",
    );
  });

  it("must be a JSON list", () => {
    for (const text of ["{}", "nonsense", "[", '"[]"'])
      assert.match(JSON.stringify(parseSubscriptions(text)), /JSON list/);
  });

  it("may be plain http elsewhere when that is allowed", () => {
    const text = JSON.stringify([{ protocol: "http", endpoint: "http://app.example.com" }]);
    assert.ok("value" in parseSubscriptions(text, { allowHttp: true }));
    for (const host of ["localhost:1", "[::1]", "127.3.2.1"]) {
      assert.ok("value" in parseSubscriptions(JSON.stringify([{ protocol: "http", endpoint: `http://${host}/` }])));
    }
  });
});

describe("event targets", () => {
  it("are https or file, with the events they want", () => {
    const filter = { "detail-type": ["Scan Result"] };
    const entries = [
      { protocol: "https", endpoint: "https://app.example.com", filter },
      { protocol: "file", endpoint: "events.jsonl" },
    ];
    const parsed = parseEventTargets(JSON.stringify(entries));
    assert.deepEqual("value" in parsed && parsed.value.map(({ detailTypes }) => detailTypes), [
      ["Scan Result"],
      undefined,
    ]);
  });

  for (const filter of [
    [],
    {},
    { "detail-type": [] },
    { "detail-type": ["Other"] },
    { "detail-type": [], x: 1 },
    null,
  ]) {
    it(`are refused with the filter ${JSON.stringify(filter)}`, () => {
      const parsed = parseEventTargets(JSON.stringify([{ protocol: "file", endpoint: "x", filter }]));
      assert.deepEqual(parsed, {
        problem: 'entry 1: filter must be {"detail-type": […]} with "Scan Result" or "Download Scan Result"',
      });
    });
  }

  it("are no emails", () => {
    const parsed = parseEventTargets(JSON.stringify([{ protocol: "email", endpoint: "a@example.com" }]));
    assert.deepEqual(parsed, { problem: "entry 1: protocol must be one of https, http, file" });
  });
});

describe("mail settings", () => {
  it("take a mail server's address, or none", () => {
    for (const text of ["", "smtp://mail.example.com", "smtps://user:p%40ss@mail.example.com:465?pool=true"]) {
      assert.deepEqual(parseSmtpUrl(text), { value: text });
    }
    for (const text of ["mail.example.com", "https://mail.example.com", "smtp://", "smtp://host/path"]) {
      assert.ok("problem" in parseSmtpUrl(text), text);
    }
  });

  it("take who emails are from, or nobody", () => {
    for (const text of ["", "scan@example.com", "Lazaret <scan@example.com>"]) {
      assert.deepEqual(parseMailFrom(text), { value: text });
    }
    for (const text of ["scan", "a@b.c, d@e.f", "X\r\nBcc: <d@e.f>", "a: <a@b.c>", "<a@b.c> x", "Scan <scan>"]) {
      assert.ok("problem" in parseMailFrom(text), text);
    }
  });
});
