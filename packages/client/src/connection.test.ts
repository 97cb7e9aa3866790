import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { connectionFrom } from "./connection.ts";

const apiKey = "key-of-the-tests";
const baseUrl = "https://lazaret.example.com";

afterEach(() => {
  delete process.env.LAZARET_URL;
  delete process.env.LAZARET_API_KEY;
});

test("what is not given comes from LAZARET_URL and LAZARET_API_KEY", () => {
  process.env.LAZARET_URL = "http://127.0.0.1:8040/";
  process.env.LAZARET_API_KEY = "key-of-the-environment";
  const fromEnvironment = connectionFrom({});
  assert.equal(fromEnvironment.baseUrl, "http://127.0.0.1:8040");
  assert.equal(fromEnvironment.apiKey, "key-of-the-environment");
  const given = connectionFrom({ baseUrl, apiKey });
  assert.deepEqual([given.baseUrl, given.apiKey], [baseUrl, apiKey]);
});

test("the server may have a path in front, and slashes at the end do not matter", () => {
  assert.equal(connectionFrom({ baseUrl: `${baseUrl}/scanner//`, apiKey }).baseUrl, `${baseUrl}/scanner`);
  assert.equal(connectionFrom({ baseUrl: new URL(baseUrl), apiKey }).baseUrl, baseUrl);
});

test("an address that ends in /api/v1, as API documents have it, is the server's", () => {
  for (const end of ["/api/v1", "/api/v1/", "//api/v1"]) {
    assert.equal(connectionFrom({ baseUrl: `${baseUrl}${end}`, apiKey }).baseUrl, baseUrl);
    assert.equal(connectionFrom({ baseUrl: `${baseUrl}/scanner${end}`, apiKey }).baseUrl, `${baseUrl}/scanner`);
  }
  assert.equal(connectionFrom({ baseUrl: `${baseUrl}/api/v1/x`, apiKey }).baseUrl, `${baseUrl}/api/v1/x`);
});

test("what is missing or wrong is said, with the name of the variable, and never with the key", () => {
  const wrong: [Parameters<typeof connectionFrom>[0], RegExp][] = [
    [{ apiKey }, /no baseUrl was given, and LAZARET_URL is not set/],
    [{ baseUrl }, /no apiKey was given, and LAZARET_API_KEY is not set/],
    [{ baseUrl: "lazaret.example.com", apiKey }, /http or https URL/],
    [{ baseUrl: "ftp://lazaret.example.com", apiKey }, /http or https URL/],
    [{ baseUrl: "https://user:secret@lazaret.example.com", apiKey }, /no user name/],
    [{ baseUrl: `${baseUrl}?x=1`, apiKey }, /no query/],
    [{ baseUrl, apiKey: `${apiKey}\n` }, /characters that no key has/],
    [{ baseUrl, apiKey, timeoutMs: 0 }, /timeoutMs/],
    [{ baseUrl, apiKey, retries: -1 }, /retries/],
  ];
  for (const [options, message] of wrong) {
    assert.throws(
      () => connectionFrom(options),
      (error: Error) => {
        assert.ok(error instanceof TypeError);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /key-of-the-tests|secret/);
        return true;
      },
    );
  }
});
