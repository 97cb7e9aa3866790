import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { signatureVectorKeys } from "@lazaret/contract/signature-vectors";
import { encrypted, zip } from "../../server/test/fixtures/zip-writer.ts";
import { type FileServer, fileServer } from "../../server/test/support/file-server.ts";
import { atTheEnd, temporaryFolder, watchChild } from "../../server/test/support/leftovers.ts";
import { type TestService, testKey, testService } from "../../server/test/support/service.ts";
import { until } from "../../server/test/support/until.ts";
import { cleanBody, signedHeaders } from "./signed-callback.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const folder = temporaryFolder();
const patience = { limitMs: 60_000 };
let service: TestService;
let files: FileServer;

interface Snippet {
  code: string;
  /** What it prints, where the page says so. */
  output: string | undefined;
}

const page = readFileSync(join(root, "docs/client.md"), "utf8");
const blocks = [...page.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(([, kind, text = ""]) => ({ kind, text }));
const snippets: Snippet[] = blocks.flatMap(({ kind, text }, index) => {
  const next = blocks[index + 1];
  return kind === "ts" ? [{ code: text, output: next?.kind === "text" ? next.text : undefined }] : [];
});
const programs = snippets.filter(({ output }) => output !== undefined);
const servers = snippets.filter(({ code }) => /\.listen\(/.test(code));
const handlers = snippets.filter((snippet) => !programs.includes(snippet) && !servers.includes(snippet));

before(async () => {
  writeFileSync(join(folder.path, "report.pdf"), "a report\n");
  writeFileSync(join(folder.path, "protected.zip"), zip([encrypted("a.txt", Buffer.from("secret"), "password")]));
  writeFileSync(join(folder.path, "callback-key.pem"), signatureVectorKeys.publicPemX509);
  writeFileSync(join(folder.path, "package.json"), '{ "type": "module" }');
  symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
  service = await testService({ engine: "P", clamd: "none", concurrency: 2 });
  files = await fileServer({ "/key.pem": (_, response) => response.end(signatureVectorKeys.publicPemX509) });
});
atTheEnd(() => folder[Symbol.dispose]());
atTheEnd(() => files[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());

/** The snippet as a file, with the page's addresses turned into real ones. */
function written(name: string, { code }: Snippet): string {
  const path = join(folder.path, `${name}.ts`);
  const real = code
    .replaceAll("https://files.example.com", files.origin)
    .replaceAll("https://lazaret.example.com/.well-known/lazaret/callback-key.pem", `${files.origin}/key.pem`)
    .replaceAll(/port: 3000|(?<=listen\()3000/g, (each) => `${each.startsWith("p") ? "path: " : ""}"${name}.sock"`);
  writeFileSync(path, real);
  return path;
}

function run(path: string): { said(): string; ended: Promise<unknown>; stop(): void } {
  const env = { ...process.env, LAZARET_URL: service.url, LAZARET_API_KEY: testKey };
  const child = spawn(process.execPath, [path], { cwd: folder.path, env });
  if (child.pid) watchChild(child.pid);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (part) => {
      said += part;
    });
  }
  return { said: () => said, ended: once(child, "close"), stop: () => child.kill() };
}

test("the page's snippets are all found", () => {
  assert.deepEqual([programs.length, servers.length, handlers.length], [7, 3, 1]);
});

for (const [index, snippet] of programs.entries()) {
  test(`program ${index + 1} of docs/client.md prints what the page shows`, async () => {
    const program = run(written(`program-${index + 1}`, snippet));
    await program.ended;
    assert.equal(program.said(), snippet.output);
  });
}

for (const [index, snippet] of servers.entries()) {
  test(`receiver ${index + 1} of docs/client.md takes a callback, and no other request`, async () => {
    const name = `receiver-${index + 1}`;
    const server = run(written(name, snippet));
    try {
      const socketPath = join(folder.path, `${name}.sock`);
      await until(`it listens; it said ${server.said()}`, () => listens(socketPath), patience);
      assert.equal(await post(socketPath, cleanBody, signedHeaders(cleanBody)), 204);
      assert.equal(await post(socketPath, `${cleanBody} `, signedHeaders(cleanBody)), 400);
      await until("it has said so", () => server.said() !== "", patience);
      assert.match(server.said(), /^(clean|job-1 order-4711 keep)\n$/);
    } finally {
      server.stop();
      await server.ended;
    }
  });
}

test("the route handler and the Lambda of docs/client.md take a callback, and no other request", async () => {
  const [snippet = assert.fail()] = handlers;
  const path = written("handlers", {
    ...snippet,
    code: snippet.code.replaceAll("console.log(result.status)", "result"),
  });
  const { POST, handler } = await import(pathToFileURL(path).href);
  for (const [body, status] of [
    [cleanBody, 204],
    [`${cleanBody} `, 400],
  ] as const) {
    const headers = signedHeaders(cleanBody);
    const answer: Response = await POST(
      new Request("https://app.example.com/scanned", { method: "POST", body, headers }),
    );
    assert.equal(answer.status, status);
    assert.equal((await handler({ body, headers, isBase64Encoded: false })).statusCode, status);
  }
});

function listens(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}

function post(socketPath: string, body: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path: "/scanned", method: "POST", headers }, (response) => {
      response.resume().once("close", () => resolve(response.statusCode));
    });
    sent.once("error", reject);
    sent.end(body);
  });
}
