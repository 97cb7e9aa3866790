import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { type SignatureVector, signatureVectorKeys, signatureVectors } from "@lazaret/contract/signature-vectors";
import { CallbackRefusedError, type RefusalReason } from "./refused.ts";
import { type CallbackVerifierOptions, createCallbackVerifier } from "./verifier.ts";

const { publicPemPkcs1, publicPemX509 } = signatureVectorKeys;
const otherPem = generateKeyPairSync("rsa", { modulusLength: 2048 })
  .publicKey.export({ type: "spki", format: "pem" })
  .toString();
const [clean, infected] = signatureVectors as [SignatureVector, SignatureVector];

const headersOf = ({ timestamp, signature }: SignatureVector): Record<string, string> => ({
  "X-Timestamp": timestamp,
  "X-Signature": signature,
});

/** A verifier that stands at the vector's time and expects its URL. */
const verifierOf = (vector: SignatureVector, options: Partial<CallbackVerifierOptions> = {}) =>
  createCallbackVerifier({
    publicKey: publicPemX509,
    callbackUrl: vector.url,
    now: () => Number(vector.timestamp),
    ...options,
  });

async function refusal(verification: Promise<unknown>): Promise<CallbackRefusedError> {
  const error: unknown = await verification.then(
    () => assert.fail("it was taken for authentic"),
    (reason) => reason,
  );
  assert.ok(error instanceof CallbackRefusedError, String(error));
  return error;
}

const reasonOf = async (verification: Promise<unknown>): Promise<RefusalReason> => (await refusal(verification)).reason;

/** Bodies of the vectors that are signed, but are no whole callback. */
const fragments = signatureVectors.slice(2).map(({ name }) => name);

for (const vector of signatureVectors) {
  for (const [form, publicKey] of [
    ["PKCS1", publicPemPkcs1],
    ["X509", publicPemX509],
  ]) {
    test(`vector, ${form} key: ${vector.name}`, async () => {
      const verifier = verifierOf(vector, { publicKey });
      const verification = verifier.verifyRaw({ body: vector.body, headers: headersOf(vector) });
      if (fragments.includes(vector.name)) assert.equal(await reasonOf(verification), "malformed_body");
      else assert.deepEqual((await verification).result, JSON.parse(vector.body));
      const other = verifierOf(vector, { publicKey, callbackUrl: `${vector.url}/` });
      assert.equal(await reasonOf(other.verifyRaw({ body: vector.body, headers: headersOf(vector) })), "bad_signature");
      const changed = verifier.verifyRaw({ body: `${vector.body} `, headers: headersOf(vector) });
      assert.equal(await reasonOf(changed), "bad_signature");
    });
  }
}

test("a Request is verified as it came, with what its headers say about the delivery", async () => {
  const request = new Request("https://inner.example.com/scanned", {
    method: "POST",
    body: infected.body,
    headers: { ...headersOf(infected), "X-Delivery-Id": "job-1", "X-Delivery-Attempt": "2" },
  });
  assert.deepEqual(await verifierOf(infected).verify(request), {
    result: JSON.parse(infected.body),
    deliveryId: "job-1",
    attempt: 2,
    sentAt: new Date(Number(infected.timestamp)),
  });
});

test("bodies may be bytes, a buffer or text; header names in whatever case", async () => {
  const verifier = verifierOf(clean);
  const bytes = new TextEncoder().encode(clean.body);
  const headers = { "x-timestamp": clean.timestamp, "X-SIGNATURE": [clean.signature.toUpperCase()] };
  for (const body of [bytes, bytes.buffer, Buffer.from(bytes), clean.body]) {
    assert.equal((await verifier.verifyRaw({ body, headers })).result.status, "clean");
  }
  assert.equal((await verifier.verifyRaw({ body: bytes, headers: new Headers(headersOf(clean)) })).attempt, undefined);
});

test("a missing header is said by its name", async () => {
  for (const name of ["X-Signature", "X-Timestamp"]) {
    const headers = { ...headersOf(clean), [name]: undefined };
    const error = await refusal(verifierOf(clean).verifyRaw({ body: clean.body, headers }));
    assert.equal(error.reason, "missing_header");
    assert.match(error.message, new RegExp(name));
  }
});

test("a timestamp that is no time is bad", async () => {
  for (const timestamp of ["", "now", "-1", "1e12", "1767225600000.5", "9".repeat(16)]) {
    const headers = { ...headersOf(clean), "X-Timestamp": timestamp };
    assert.equal(
      await reasonOf(verifierOf(clean).verifyRaw({ body: clean.body, headers })),
      "bad_timestamp",
      timestamp,
    );
  }
});

// spec: auth-7, limit-5
test("a timestamp more than five minutes from now is old, either way; exactly five is not", async () => {
  const at = (offMs: number, options: Partial<CallbackVerifierOptions> = {}) =>
    verifierOf(clean, { now: () => Number(clean.timestamp) + offMs, ...options }).verifyRaw({
      body: clean.body,
      headers: headersOf(clean),
    });
  await at(300_000);
  await at(-300_000);
  assert.equal(await reasonOf(at(300_001)), "old_timestamp");
  assert.match((await refusal(at(-301_000))).message, /301 s ahead/);
  assert.equal(await reasonOf(at(11, { toleranceMs: 10 })), "old_timestamp");
});

test("a signature that is no hex, of another time, or of another key is bad", async () => {
  const verify = (headers: object, options: Partial<CallbackVerifierOptions> = {}) =>
    reasonOf(verifierOf(clean, options).verifyRaw({ body: clean.body, headers: { ...headersOf(clean), ...headers } }));
  for (const signature of ["", "zz", clean.signature.slice(1), clean.signature.slice(2), infected.signature]) {
    assert.equal(await verify({ "X-Signature": signature }), "bad_signature");
  }
  assert.equal(await verify({ "X-Signature": [clean.signature, clean.signature] }), "bad_signature");
  assert.equal(await verify({ "X-Timestamp": String(Number(clean.timestamp) + 1) }), "bad_signature");
  assert.equal(await verify({}, { publicKey: otherPem }), "bad_signature");
});

test("the message of a bad signature shows the callback_url that was expected", async () => {
  const verifier = verifierOf(clean, { callbackUrl: "https://app.example.com/elsewhere" });
  const error = await refusal(verifier.verifyRaw({ body: clean.body, headers: headersOf(clean) }));
  assert.match(error.message, /https:\/\/app\.example\.com\/elsewhere$/);
});

test("a body that was parsed, or read, is told apart from a bad signature", async () => {
  const verifier = verifierOf(clean);
  for (const body of [JSON.parse(clean.body), undefined, null]) {
    assert.equal(await reasonOf(verifier.verifyRaw({ body, headers: headersOf(clean) })), "parsed_body");
  }
  const request = new Request(clean.url, { method: "POST", body: clean.body, headers: headersOf(clean) });
  await request.json();
  assert.equal(await reasonOf(verifier.verify(request)), "parsed_body");
});

test("a body over the limit is too big", async () => {
  const request = new Request(clean.url, { method: "POST", body: clean.body, headers: headersOf(clean) });
  assert.equal(await reasonOf(verifierOf(clean).verify(request, { maxBytes: 10 })), "too_big");
});

test("several keys are good at the same time, in a list or in one text", async () => {
  for (const options of [
    { publicKey: undefined, publicKeys: [otherPem, publicPemPkcs1] },
    { publicKey: `${otherPem}\n${publicPemX509}` },
  ]) {
    await verifierOf(clean, options).verifyRaw({ body: clean.body, headers: headersOf(clean) });
  }
});

test("the callbackUrl may depend on the request", async () => {
  const verifier = verifierOf(infected, {
    callbackUrl: ({ url, header }) => `https://${header("host")}${url}`,
  });
  const { pathname, search, host } = new URL(infected.url);
  const headers = { ...headersOf(infected), Host: host };
  await verifier.verifyRaw({ body: infected.body, headers, url: `${pathname}${search}` });
});

test("with a tenantId the signature is over that too, between the time and the URL", async () => {
  const { timestamp, url, body } = clean;
  const signedText = Buffer.from(`${timestamp}.tenant-7.${url}.${body}`);
  const signature = sign("sha256", signedText, signatureVectorKeys.testOnlyPrivatePem).toString("hex");
  const callback = { body, headers: { "X-Timestamp": timestamp, "X-Signature": signature } };
  await verifierOf(clean, { tenantId: "tenant-7" }).verifyRaw(callback);
  assert.equal(await reasonOf(verifierOf(clean, { tenantId: "tenant-8" }).verifyRaw(callback)), "bad_signature");
  assert.equal(await reasonOf(verifierOf(clean).verifyRaw(callback)), "bad_signature");
  const plain = { body, headers: headersOf(clean) };
  assert.equal(await reasonOf(verifierOf(clean, { tenantId: "tenant-7" }).verifyRaw(plain)), "bad_signature");
});

test("options that can never work are refused at once", () => {
  const make = (options: object) => () => createCallbackVerifier({ callbackUrl: clean.url, ...options });
  assert.throws(make({}), /no key was given/);
  assert.throws(make({ publicKeys: [] }), /no key was given/);
  assert.throws(make({ publicKey: "" }), /no PEM block/);
  assert.throws(make({ publicKey: signatureVectorKeys.testOnlyPrivatePem }), /not BEGIN PRIVATE KEY/);
  assert.throws(make({ publicKey: "-----BEGIN PUBLIC KEY-----\n?\n-----END PUBLIC KEY-----" }), /no base64/);
  assert.throws(make({ publicKey: publicPemX509, callbackUrl: "" }), /no callbackUrl/);
});

test("a PEM that is no RSA key fails every callback, but not as a bad signature", async () => {
  const publicKey = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }).toString();
  const verification = verifierOf(clean, { publicKey }).verifyRaw({ body: clean.body, headers: headersOf(clean) });
  await assert.rejects(verification, /no RSA key that can be read/);
});
