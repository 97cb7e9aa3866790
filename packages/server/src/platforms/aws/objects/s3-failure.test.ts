import assert from "node:assert/strict";
import { test } from "node:test";
import { S3ServiceException } from "@aws-sdk/client-s3";
import { s3Failure } from "./s3-failure.ts";

/** Status and name as S3 gives them; what becomes of the file. */
const answers: [status: number, name: string, code: string, outcome: string][] = [
  [404, "NoSuchKey", "NoSuchKey", "object-not-found"],
  [404, "NoSuchBucket", "NoSuchBucket", "object-not-found"],
  [404, "NoSuchVersion", "NoSuchVersion", "object-not-found"],
  [404, "NotFound", "NotFound", "object-not-found"],
  [404, "UnknownError", "HTTP_404", "object-not-found"],
  [400, "InvalidBucketName", "InvalidBucketName", "object-not-found"],
  [400, "KeyTooLongError", "KeyTooLongError", "object-not-found"],
  [405, "MethodNotAllowed", "MethodNotAllowed", "object-not-found"],
  [403, "AccessDenied", "AccessDenied", "object-access-denied"],
  [403, "AllAccessDisabled", "AllAccessDisabled", "object-access-denied"],
  [403, "InvalidObjectState", "InvalidObjectState", "object-access-denied"],
  [403, "403", "HTTP_403", "object-access-denied"],
  [401, "UnknownError", "HTTP_401", "object-access-denied"],
  [403, "InvalidAccessKeyId", "InvalidAccessKeyId", "object-access-denied, passing"],
  [403, "SignatureDoesNotMatch", "SignatureDoesNotMatch", "object-access-denied, passing"],
  [403, "RequestTimeTooSkewed", "RequestTimeTooSkewed", "object-access-denied, passing"],
  [400, "ExpiredToken", "ExpiredToken", "object-access-denied, passing"],
  [400, "InvalidToken", "InvalidToken", "object-access-denied, passing"],
  [503, "SlowDown", "SlowDown", "download-failed, passing"],
  [503, "ServiceUnavailable", "ServiceUnavailable", "download-failed, passing"],
  [500, "InternalError", "InternalError", "download-failed, passing"],
  [502, "UnknownError", "HTTP_502", "download-failed, passing"],
  [429, "TooManyRequests", "TooManyRequests", "download-failed, passing"],
  [409, "OperationAborted", "OperationAborted", "download-failed, passing"],
  [400, "RequestTimeout", "RequestTimeout", "download-failed, passing"],
  [301, "PermanentRedirect", "PermanentRedirect", "download-failed, passing"],
  [400, "InvalidRequest", "InvalidRequest", "download-failed"],
  [400, "KMS.DisabledException", "KMS.DisabledException", "download-failed"],
  [418, "<script>\u001b[31m", "HTTP_418", "download-failed"],
];

for (const [status, name, code, outcome] of answers) {
  test(`an answer ${status} ${JSON.stringify(name)} means ${outcome}`, () => {
    const failure = s3Failure(answered(status, name), "read the object");
    assert.equal(outcomeOf(failure), outcome);
    assert.equal(failure?.code, code);
    assert.equal(failure?.statusCode, status);
    assert.match(failure?.message ?? "", /^cannot read the object: [a-z]/);
  });
}

const faults: [error: Error, code: string, outcome: string][] = [
  [network("ECONNREFUSED"), "ECONNREFUSED", "download-failed, passing"],
  [network("ENOTFOUND"), "ENOTFOUND", "download-failed, passing"],
  [network("CERT_HAS_EXPIRED"), "CERT_HAS_EXPIRED", "download-failed, passing"],
  [named("TimeoutError"), "ETIMEDOUT", "download-failed, passing"],
  [named("CredentialsProviderError"), "CredentialsProviderError", "object-access-denied, passing"],
];

for (const [error, code, outcome] of faults) {
  test(`no answer because of ${code} means ${outcome}`, () => {
    const failure = s3Failure(error, "read the object");
    assert.equal(outcomeOf(failure), outcome);
    assert.equal(failure?.code, code);
  });
}

test("no message tells what the store or the network wrote", () => {
  const errors = [...answers.map(([status, name]) => answered(status, name)), ...faults.map(([error]) => error)];
  for (const error of errors) assert.doesNotMatch(JSON.stringify(s3Failure(error, "read it")), /10\.0\.0\.7|AKID/);
});

test("an error that is none of the store's is no failure of the store", () => {
  assert.equal(s3Failure(new TypeError("a bug"), "read the object"), undefined);
  assert.equal(s3Failure(network("ERR_INVALID_ARG_TYPE"), "read the object"), undefined);
  assert.equal(s3Failure("thrown text", "read the object"), undefined);
});

function answered(httpStatusCode: number, name: string): Error {
  const message = "AKIDOFSOMEBODY may not do this at 10.0.0.7";
  return new S3ServiceException({ name, message, $fault: "client", $metadata: { httpStatusCode } });
}

function network(code: string): Error {
  return Object.assign(new Error(`connect ${code} 10.0.0.7:443`), { code, $metadata: { attempts: 3 } });
}

function named(name: string): Error {
  return Object.assign(new Error("could not get AKIDOFSOMEBODY from 10.0.0.7"), { name });
}

function outcomeOf(failure: ReturnType<typeof s3Failure>): string {
  return `${failure?.finding.replace("scanner:", "")}${failure?.passing ? ", passing" : ""}`;
}
