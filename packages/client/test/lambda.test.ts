import assert from "node:assert/strict";
import { test } from "node:test";
import { type LambdaEvent, lambdaReceiver, type VerifiedCallback } from "@lazaret/client";
import { cleanBody, signedHeaders, verifier } from "./signed-callback.ts";

const lowerCase = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** Events as the services make them, shortened to what matters and what might mislead. */
const events: Record<string, (body: string, headers: Record<string, string>) => LambdaEvent & Record<string, unknown>> =
  {
    "a function URL or an HTTP API (2.0)": (body, headers) => ({
      version: "2.0",
      routeKey: "$default",
      rawPath: "/scanned",
      rawQueryString: "",
      headers: { ...lowerCase(headers), host: "abc.lambda-url.eu-central-1.on.aws", "x-forwarded-proto": "https" },
      requestContext: { http: { method: "POST", path: "/scanned", protocol: "HTTP/1.1" } },
      body,
      isBase64Encoded: false,
    }),
    "a function URL with a body in base64": (body, headers) => ({
      version: "2.0",
      rawPath: "/scanned",
      headers: lowerCase(headers),
      body: Buffer.from(body).toString("base64"),
      isBase64Encoded: true,
    }),
    "a REST API (1.0)": (body, headers) => ({
      resource: "/scanned",
      path: "/scanned",
      httpMethod: "POST",
      headers: { ...headers, Host: "abc.execute-api.eu-central-1.amazonaws.com" },
      multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
      queryStringParameters: null,
      body,
      isBase64Encoded: false,
    }),
    "a load balancer with multi-value headers": (body, headers) => ({
      requestContext: { elb: { targetGroupArn: "arn:aws:elasticloadbalancing:eu-central-1:1:targetgroup/x/y" } },
      httpMethod: "POST",
      path: "/scanned",
      multiValueHeaders: Object.fromEntries(Object.entries(lowerCase(headers)).map(([name, value]) => [name, [value]])),
      body: Buffer.from(body).toString("base64"),
      isBase64Encoded: true,
    }),
  };

for (const [name, event] of Object.entries(events)) {
  test(`${name}: an authentic callback is handed over and answered 204, another one 400`, async () => {
    const received: VerifiedCallback[] = [];
    const handler = lambdaReceiver(verifier, (callback) => received.push(callback));
    const taken = await handler(event(cleanBody, signedHeaders(cleanBody)));
    assert.deepEqual(taken, { statusCode: 204, headers: {}, body: "" });
    assert.deepEqual(received[0]?.result, JSON.parse(cleanBody));
    const refused = await handler(event(`${cleanBody} `, signedHeaders(cleanBody)));
    assert.equal(refused.statusCode, 400);
    assert.match(refused.body, /^bad_signature: /);
    assert.equal(received.length, 1);
  });
}

test("an event without a body or headers is answered 400", async () => {
  const handler = lambdaReceiver(verifier, () => assert.fail("it was handed over"));
  for (const event of [{}, { body: null, headers: null }]) {
    const { statusCode, body } = await handler(event);
    assert.equal(statusCode, 400);
    assert.match(body, /^missing_header: /);
  }
});

test("a body over the limit is answered 400, and a handler that throws 500", async () => {
  const make = events["a REST API (1.0)"];
  const event = make?.(cleanBody, signedHeaders(cleanBody)) ?? {};
  const small = lambdaReceiver(verifier, () => assert.fail("it was handed over"), { maxBytes: 100 });
  assert.match((await small(event)).body, /^too_big: /);
  const errors: unknown[] = [];
  const failing = lambdaReceiver(verifier, () => Promise.reject(new Error("away")), { onError: (e) => errors.push(e) });
  assert.equal((await failing(event)).statusCode, 500);
  assert.match(String(errors[0]), /away/);
});
