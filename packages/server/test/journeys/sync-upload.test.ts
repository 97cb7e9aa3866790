import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { before, describe, test } from "node:test";
import { deflateSync } from "node:zlib";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { rawHttp } from "../support/raw-http.ts";
import { type TestService, testKey, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** 200 MB, as the spec says. */
const MAX_FILE_BYTES = 209_715_200;
let clamd: TestClamd;
let service: TestService;
before(async () => {
  clamd = await testClamd();
  service = await testService({ clamd: `unix:${clamd.socketPath}` });
});
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());

const head = (lines: string[]): string =>
  `POST /api/v1/scan/sync/binary HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${testKey}\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;
const octets = "Content-Type: application/octet-stream";

async function expectError(response: Response, status: number, code: string): Promise<void> {
  const body = (await response.json()) as Record<string, unknown>;
  assert.deepEqual([response.status, body.code], [status, code]);
  assert.equal(body.statusCode, status);
  assert.equal(body.request_id, response.headers.get("x-request-id"));
  assert.equal(typeof body.message, "string");
}

describe("POST /api/v1/scan/sync/binary", () => {
  // spec: service-3, resource-7
  test("a clean file is clean, with its size and no finding", async () => {
    const response = await service.scan("just some text");
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
    assert.deepEqual(await response.json(), { status: "clean", size: 14 });
  });

  // spec: service-6, resource-8
  test("an infected file is infected, with the kind of malware as its finding", async () => {
    const response = await service.scan(eicar());
    assert.deepEqual(await response.json(), { status: "infected", finding: "Eicar-Test-Signature", size: 68 });
  });

  // spec: resource-10
  test("engine Q never tells a real file type", async () => {
    const body = (await (await service.scan("%PDF-1.7\n")).json()) as object;
    assert.ok(!("realfiletype" in body));
  });

  // spec: resource-9
  test("an empty body has size 0 and is clean if the engine says so", async () => {
    assert.deepEqual(await (await service.scan("")).json(), { status: "clean", size: 0 });
    const chunked = await rawHttp(service.port, [head([octets, "Transfer-Encoding: chunked"]), "0\r\n\r\n"], {
      keep: true,
    });
    assert.deepEqual(JSON.parse(chunked.body), { status: "clean", size: 0 });
  });

  // spec: endpoint-6
  test("a chunked body without a length is scanned", async () => {
    const infected = eicar().toString("latin1");
    const chunks = [`22\r\n${infected.slice(0, 34)}\r\n`, `22\r\n${infected.slice(34)}\r\n`, "0\r\n\r\n"];
    const answer = await rawHttp(service.port, [head([octets, "Transfer-Encoding: chunked"]), ...chunks], {
      keep: true,
    });
    assert.deepEqual(JSON.parse(answer.body), { status: "infected", finding: "Eicar-Test-Signature", size: 68 });
  });

  // spec: limit-6
  test("a file of exactly 200 MB is scanned, to its last byte", async () => {
    const bytes = Buffer.alloc(MAX_FILE_BYTES);
    eicar().copy(bytes, bytes.length - 68);
    assert.deepEqual(await (await service.scan(bytes)).json(), {
      status: "infected",
      finding: "Eicar-Test-Signature",
      size: MAX_FILE_BYTES,
    });
  });

  // spec: limit-6
  test("a file over 200 MB by its Content-Length gets 413 before it is sent, and the connection is closed", async () => {
    const answer = await rawHttp(service.port, [head([octets, `Content-Length: ${MAX_FILE_BYTES + 1}`])]);
    assert.equal(answer.status, 413);
    assert.equal(JSON.parse(answer.body).code, "scanner:too-big");
    assert.equal(answer.headers.connection, "close");
    assert.equal(answer.closed, true);
  });

  // spec: error-3
  test("a chunked file over 200 MB gets 413 while it is counted, and the connection is closed", async () => {
    const block = Buffer.alloc(8 * 1024 * 1024);
    const chunk = [`${block.length.toString(16)}\r\n`, block, "\r\n"];
    const chunks = Array.from({ length: 26 }, () => chunk).flat();
    const answer = await rawHttp(service.port, [head([octets, "Transfer-Encoding: chunked"]), ...chunks]);
    assert.deepEqual([answer.status, JSON.parse(answer.body).code], [413, "scanner:too-big"]);
    assert.equal(answer.closed, true);
  });

  test("a missing or wrong content type is refused", async () => {
    await expectError(
      await service.call("/api/v1/scan/sync/binary", { method: "POST" }),
      415,
      "unsupported_media_type",
    );
    const response = await service.call("/api/v1/scan/sync/binary", { method: "POST", body: "plain text" });
    await expectError(response, 415, "unsupported_media_type");
  });

  test("an encoded body is refused, because scanning its encoded form proves nothing", async () => {
    const headers = { "Content-Type": "application/octet-stream", "Content-Encoding": "gzip" };
    const response = await service.call("/api/v1/scan/sync/binary", { method: "POST", headers, body: "x" });
    await expectError(response, 415, "unsupported_encoding");
  });

  test("a transfer-encoded body is refused: under the chunks the bytes would not be the file's", async () => {
    const packed = deflateSync(eicar());
    const chunked = [`${packed.length.toString(16)}\r\n`, packed, "\r\n0\r\n\r\n"];
    for (const coding of ["deflate, chunked", "gzip, chunked", "identity, chunked"]) {
      const answer = await rawHttp(service.port, [head([octets, `Transfer-Encoding: ${coding}`]), ...chunked]);
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [415, "unsupported_encoding"], coding);
    }
  });

  test("a request that says nothing of a body is not an empty file", async () => {
    const answer = await rawHttp(service.port, [head([octets])], { keep: true });
    assert.deepEqual([answer.status, JSON.parse(answer.body).code], [411, "length_required"]);
  });

  test("a client that asked first is told to go on only when its body is wanted", async () => {
    const wanted = [head([octets, "Expect: 100-continue", "Content-Length: 5"]), "hello"];
    assert.deepEqual(JSON.parse((await rawHttp(service.port, wanted, { keep: true })).body), {
      status: "clean",
      size: 5,
    });
    const refused = await rawHttp(service.port, [head(["Expect: 100-continue", "Content-Length: 5"])]);
    assert.equal(refused.status, 415);
  });

  test("a result tells its request id in a header, and the log has the verdict under it", async () => {
    const response = await service.scan("hello");
    const id = response.headers.get("x-request-id");
    assert.match(id ?? "", /^[0-9a-f-]{36}$/);
    const line = service.lines.find(({ request_id }) => request_id === id);
    assert.deepEqual([line?.status, line?.verdict, line?.bytes], [200, "clean", 5]);
  });

  test("a client that goes away in mid-body leaves one log line and nothing else", async () => {
    const from = service.lines.length;
    await rawHttp(service.port, [head([octets, "Content-Length: 1000"]), "half"], { limitMs: 100 });
    await until("the request is logged", () => service.lines.length > from);
    assert.deepEqual(service.lines.slice(from + 1), []);
    assert.equal(service.lines[from]?.status, 499);
    assert.deepEqual(await (await service.scan("next")).json(), { status: "clean", size: 4 });
  });

  // spec: version-5
  test("every answer says that the synchronous API is deprecated", async () => {
    const response = await service.scan("x");
    assert.match(response.headers.get("deprecation") ?? "", /^@\d+$/);
    assert.match(response.headers.get("link") ?? "", /rel="deprecation"/);
  });

  test("bodies that arrive in any pieces are scanned whole", async () => {
    const bytes = Buffer.concat([randomBytes(300_000), eicar(), randomBytes(300_000)]);
    assert.deepEqual(await (await service.scan(bytes)).json(), {
      status: "infected",
      finding: "Eicar-Test-Signature",
      size: 600_068,
    });
  });
});

describe("POST /api/v1/scan/sync/form", () => {
  const form = async (parts: [name: string, value: Blob | string, filename?: string][]): Promise<Response> => {
    const data = new FormData();
    for (const [name, value, filename] of parts) {
      if (typeof value === "string") data.append(name, value);
      else data.append(name, value, filename);
    }
    return service.call("/api/v1/scan/sync/form", { method: "POST", body: data });
  };
  const rawForm = (body: string | Uint8Array, type = "multipart/form-data; boundary=b0"): Promise<Response> =>
    service.call("/api/v1/scan/sync/form", {
      method: "POST",
      headers: { "Content-Type": type },
      body: typeof body === "string" ? Buffer.from(body, "latin1") : Buffer.from(body),
    });
  const part = (headers: string, content: string): string => `--b0\r\n${headers}\r\n\r\n${content}\r\n`;
  const filePart = (disposition: string, content = "hello"): string =>
    part(`Content-Disposition: form-data; ${disposition}`, content);

  // spec: service-4
  test("the one file of a form is scanned, whatever its field is called", async () => {
    assert.deepEqual(await (await form([["file", new Blob(["hello"])]])).json(), { status: "clean", size: 5 });
    assert.deepEqual(await (await form([["attachment", new Blob([eicar()])]])).json(), {
      status: "infected",
      finding: "Eicar-Test-Signature",
      size: 68,
    });
  });

  // spec: endpoint-7
  test("no file, a field instead, two files, or a file and a field: exactly one file is wanted", async () => {
    await expectError(await rawForm("--b0--\r\n"), 400, "exactly_one_file");
    await expectError(await form([["file", "only a field"]]), 400, "exactly_one_file");
    await expectError(
      await form([
        ["a", new Blob(["1"])],
        ["b", new Blob(["2"])],
      ]),
      400,
      "exactly_one_file",
    );
    await expectError(
      await form([
        ["a", new Blob(["1"])],
        ["b", "field"],
      ]),
      400,
      "exactly_one_file",
    );
    await expectError(
      await form([
        ["b", "field"],
        ["a", new Blob(["1"])],
      ]),
      400,
      "exactly_one_file",
    );
  });

  test("no boundary, a cut body, no closing boundary: the form is invalid", async () => {
    await expectError(await rawForm("x", "multipart/form-data"), 400, "invalid_multipart");
    await expectError(await rawForm("", "multipart/form-data; boundary=b0"), 400, "invalid_multipart");
    await expectError(await rawForm(filePart('name="f"; filename="x"')), 400, "invalid_multipart");
    await expectError(await rawForm('--b0\r\nContent-Disposition: form-data; name="f"; fi'), 400, "invalid_multipart");
    await expectError(await rawForm("no boundary anywhere"), 400, "invalid_multipart");
  });

  test("2,000 parts, or 101 headers in a part: the form is invalid and reading stops early", async () => {
    const many = `${filePart('name="f"', "v").repeat(2000)}--b0--\r\n`;
    await expectError(await rawForm(many), 400, "invalid_multipart");
    const headers = Array.from({ length: 101 }, (_, index) => `X-${index}: v`).join("\r\n");
    await expectError(await rawForm(`${part(headers, "x")}--b0--\r\n`), 400, "invalid_multipart");
  });

  test("any file name is accepted and none is used", async () => {
    const names = ['filename="../../x"', 'filename="a\0b"', `filename="${"n".repeat(10_240)}"`, 'filename=""'];
    for (const name of names) {
      const response = await rawForm(`${filePart(`name="f"; ${name}`)}--b0--\r\n`);
      assert.deepEqual(await response.json(), { status: "clean", size: 5 }, name.slice(0, 30));
    }
    const nameless = part('Content-Disposition: form-data; name="f"\r\nContent-Type: application/pdf', "hello");
    assert.deepEqual(await (await rawForm(`${nameless}--b0--\r\n`)).json(), { status: "clean", size: 5 });
  });

  test("a transfer-encoded part is refused, because its bytes are not the file's", async () => {
    const encoded = part(
      'Content-Disposition: form-data; name="f"; filename="x"\r\nContent-Transfer-Encoding: base64',
      "aGk=",
    );
    await expectError(await rawForm(`${encoded}--b0--\r\n`), 400, "invalid_multipart");
    const gzipped = part('Content-Disposition: form-data; name="f"; filename="x"\r\nContent-Encoding: gzip', "x");
    await expectError(await rawForm(`${gzipped}--b0--\r\n`), 400, "invalid_multipart");
  });

  test("anything before the first boundary or after the last is refused: another reader might see a file in it", async () => {
    const infected = eicar().toString("latin1");
    const file = filePart('name="f"; filename="x"');
    for (const form of [
      `${infected}\r\n${file}--b0--\r\n`,
      `--b0\nContent-Disposition: form-data; name="f"; filename="y"\n\n${infected}\n${file}--b0--\r\n`,
      `${file}--b0--\r\n${infected}`,
      `${file}--b0--junk\r\n${file}--b0--\r\n`,
      `${file}--b0--\r\n${file}--b0--\r\n`,
    ]) {
      await expectError(await rawForm(form), 400, "invalid_multipart");
    }
    const lineBreaks = `\r\n${file}--b0--`;
    assert.deepEqual(await (await rawForm(lineBreaks)).json(), { status: "clean", size: 5 });
  });

  test("a file over 200 MB gets 413", async () => {
    const start = Buffer.from('--b0\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\n');
    const bytes = Buffer.concat([start, Buffer.alloc(MAX_FILE_BYTES + 1), Buffer.from("\r\n--b0--\r\n")]);
    const lines = [`Content-Type: multipart/form-data; boundary=b0`, `Content-Length: ${bytes.length}`];
    const request = head(lines).replace("/binary", "/form");
    const answer = await rawHttp(service.port, [request, bytes]);
    assert.deepEqual([answer.status, JSON.parse(answer.body).code, answer.closed], [413, "scanner:too-big", true]);
  });

  test("a wrong content type is refused", async () => {
    await expectError(await rawForm("x", "application/octet-stream"), 415, "unsupported_media_type");
  });
});
