import assert from "node:assert/strict";
import { createPrivateKey, sign } from "node:crypto";
import { test } from "node:test";
import { signatureVectorKeys } from "@lazaret/contract/signature-vectors";
import { type Diagnosis, diagnose, type KeptCallback } from "./diagnose.ts";

const NOW = 1_767_225_600_000;
const URL_SUBMITTED = "https://app.example.com/scanned?tenant=7";
const BODY =
  '{"status":"clean","size":10,"download_time":"0.004","scan_time":"0.002","download_url":"https://a.example/b"}';
const privateKey = createPrivateKey(signatureVectorKeys.testOnlyPrivatePem);

function signed(change: Partial<KeptCallback> = {}, body = BODY): KeptCallback {
  const signature = sign("sha256", Buffer.from(`${NOW}.${URL_SUBMITTED}.${body}`), privateKey).toString("hex");
  return { body: Buffer.from(body), signature, timestamp: String(NOW), callbackUrl: URL_SUBMITTED, ...change };
}

function diagnosed(kept: KeptCallback, now: number = NOW): Promise<Diagnosis> {
  return diagnose(kept, { publicKey: signatureVectorKeys.publicPemX509, toleranceMs: 300_000, now: () => now });
}

async function explanationOf(change: Partial<KeptCallback>, now?: number): Promise<string> {
  const diagnosis = await diagnosed(signed(change), now);
  assert.equal(diagnosis.kind, "refused");
  return diagnosis.kind === "refused" ? `${diagnosis.reason}: ${diagnosis.explanation}` : "";
}

test("a callback that was kept as it came is authentic", async () => {
  const diagnosis = await diagnosed(signed());
  assert.ok(diagnosis.kind === "authentic");
  assert.equal(diagnosis.callback.result.status, "clean");
});

test("a signature that fits with one mistake less says which", async () => {
  const explained = {
    "bad_signature: the signature fits without the line break at the end of the body": {
      body: Buffer.from(`${BODY}\n`),
    },
    "bad_signature: the signature fits with the JSON as Lazaret writes it: the body was parsed and written again": {
      body: Buffer.from(JSON.stringify(JSON.parse(BODY), null, 2)),
    },
    [`bad_signature: the signature fits with the callback_url ${URL_SUBMITTED}`]: {
      callbackUrl: URL_SUBMITTED.replace("https", "http"),
    },
    "bad_signature: the signature fits once it is written as hex; it came as base64": {
      signature: Buffer.from(signed().signature ?? "", "hex").toString("base64"),
    },
    [`bad_signature: the signature fits without the line break at the end of the body, and with the callback_url ${URL_SUBMITTED}`]:
      { body: Buffer.from(`${BODY}\r\n`), callbackUrl: `${URL_SUBMITTED}#part` },
  };
  for (const [explanation, change] of Object.entries(explained)) assert.equal(await explanationOf(change), explanation);
});

test("what nobody signed has no explanation", async () => {
  assert.equal(await explanationOf({ body: Buffer.from(BODY.replace("10", "11")) }), "bad_signature: undefined");
  assert.equal(await explanationOf({ signature: "no hex" }), "bad_signature: undefined");
  assert.equal(await explanationOf({ signature: undefined }), "missing_header: undefined");
});

test("an old timestamp is told apart from a wrong one", async () => {
  assert.match(await explanationOf({}, NOW + 3_600_000), /^old_timestamp: the signature itself fits; --tolerance/);
  assert.match(await explanationOf({ timestamp: "1767225600" }), /^old_timestamp: X-Timestamp is in milliseconds/);
  assert.match(await explanationOf({ timestamp: "yesterday" }), /^bad_timestamp/);
});

test("a signed body that is no result is refused as that", async () => {
  const diagnosis = await diagnosed(signed({}, '{"hello":1}'));
  assert.equal(diagnosis.kind === "refused" && diagnosis.reason, "malformed_body");
});
