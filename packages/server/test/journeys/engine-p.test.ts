import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { encrypted, zip } from "../fixtures/zip-writer.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

let clamd: TestClamd;
let alone: TestService;
let together: TestService;
const folder = temporaryFolder();
before(async () => {
  clamd = await testClamd();
  alone = await testService({ engine: "P", clamd: "none", rulesDir: folder.path });
  together = await testService({ engine: "P", clamd: `unix:${clamd.socketPath}` });
});
atTheEnd(() => folder[Symbol.dispose]());
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => together[Symbol.asyncDispose]());
atTheEnd(() => alone[Symbol.asyncDispose]());

const ask = async (service: TestService, bytes: Uint8Array | string): Promise<unknown> =>
  (await service.scan(bytes)).json();

test("a file over which YARA-X ends its thread is not scanned, whoever wrote the rule, and the next one is", async () => {
  using rules = temporaryFolder();
  // A mistake of YARA-X 1.20: see docs/rules.md.
  writeFileSync(join(rules.path, "own.yar"), "rule AnyTwo { strings: $a = /a./s fullword condition: $a }");
  await using service = await testService({ engine: "P", clamd: "none", rulesDir: rules.path });
  for (let round = 0; round < 2; round += 1) {
    const { status, finding } = (await ask(service, "AAAAa\0q\0")) as { status: string; finding: string };
    assert.deepEqual([status, finding], ["no", "scanner:engine-error"]);
    assert.deepEqual(await ask(service, "fine\n"), { status: "clean", size: 5, realfiletype: "ASCII text" });
    assert.deepEqual(await ask(service, eicar()), {
      status: "infected",
      finding: "EICAR_Test_File",
      size: 68,
      realfiletype: "ASCII text",
    });
  }
});

for (const engine of ["P", "Q"] as const) {
  test(`with ${engine}, a file that OpenSSL encrypted is clean only where such files must be stored`, async () => {
    const file = Buffer.concat([Buffer.from("Salted__"), randomBytes(200)]);
    const options = { engine, clamd: `unix:${clamd.socketPath}` } as const;
    await using strict = await testService(options);
    await using lenient = await testService({ ...options, ciphertext: "clean" });
    const { status, finding } = (await ask(strict, file)) as { status: string; finding: string };
    assert.deepEqual([status, finding], ["no", "scanner:encrypted"]);
    assert.equal(((await ask(lenient, file)) as { status: string }).status, "clean");
  });
}

describe("engine P without clamd", () => {
  // spec: resource-10
  test("a clean file is clean, with its real file type", async () => {
    assert.deepEqual(await ask(alone, "just some text\n"), { status: "clean", size: 15, realfiletype: "ASCII text" });
    assert.deepEqual(await ask(alone, ""), { status: "clean", size: 0, realfiletype: "empty" });
  });

  // spec: version-3
  test("an infected file is infected, with the rule's name and its real file type", async () => {
    assert.deepEqual(await ask(alone, eicar()), {
      status: "infected",
      finding: "EICAR_Test_File",
      size: 68,
      realfiletype: "ASCII text",
    });
  });

  test("a form's file name does not decide its type", async () => {
    const data = new FormData();
    data.append("file", new Blob(["%PDF-1.7\n%âãÏÓ\n1 0 obj\n"]), "holiday.jpg");
    const response = await alone.call("/api/v1/scan/sync/form", { method: "POST", body: data });
    const { realfiletype } = (await response.json()) as { realfiletype: string };
    assert.equal(realfiletype, "Adobe Portable Document Format (PDF)");
  });

  test("it says at readiness what it knows and what it does not", async () => {
    const text = await (await alone.call("/readyz?verbose")).text();
    assert.match(text, /built-in rules/);
    assert.match(text, /not the world's malware/);
  });

  test("a rule that is put into the rules folder counts for the next files; a broken one keeps the old set", async () => {
    const rule = 'rule My_Own_Rule { strings: $a = "very own marker" condition: $a }';
    writeFileSync(join(folder.path, "own.yar"), rule);
    await until("the rule is in use", async () => {
      const { finding } = (await ask(alone, "a very own marker")) as { finding?: string };
      return finding === "My_Own_Rule";
    });
    writeFileSync(join(folder.path, "own.yar"), "rule broken {");
    await until("readiness tells of the broken rule", async () =>
      /do not compile|syntax|error/i.test(await (await alone.call("/readyz?verbose")).text()),
    );
    assert.equal(((await ask(alone, "a very own marker")) as { finding?: string }).finding, "My_Own_Rule");
    assert.equal((await alone.call("/readyz")).status, 204);
  });
});

describe("engine P with clamd", () => {
  test("infected if either says so, by the name of who finds it first", async () => {
    const text = (await ask(together, eicar())) as { status: string; finding: string };
    assert.deepEqual([text.status, text.finding], ["infected", "EICAR_Test_File"]);
    // No rule knows it, and it is no container: clamd alone finds it, by its hash.
    const program = (await ask(together, readFileSync("/usr/share/clamav-testfiles/clam.exe"))) as typeof text;
    assert.equal(program.status, "infected");
  });

  test("clean needs both: with clamd down a clean file gets 503, and an infected one is still infected", async () => {
    await using own = await testClamd();
    await using service = await testService({ engine: "P", clamd: `unix:${own.socketPath}` });
    assert.equal((await service.scan("fine")).status, 200);
    await own.kill();
    assert.equal((await service.scan("fine")).status, 503);
    const infected = (await ask(service, eicar())) as { finding: string };
    assert.equal(infected.finding, "EICAR_Test_File");
    await until("readiness notices", async () => (await service.call("/readyz")).status === 503);
  });

  // spec: error-2
  test("the real file type is told of every file, also of one that cannot be scanned", async () => {
    const answer = (await ask(together, zip([encrypted("x", Buffer.from("secret"), "password")]))) as Record<
      string,
      unknown
    >;
    assert.deepEqual([answer.status, answer.realfiletype], ["no", "ZIP archive"]);
  });
});

// spec: limit-9
test("engine P scans 8 files for each vCPU at once", async () => {
  await using own = await testClamd();
  await using service = await testService({ engine: "P", clamd: `unix:${own.socketPath}`, waitingLine: 1 });
  await service.scan("warm");
  process.kill(own.pid, "SIGSTOP");
  const slots = 8 * availableParallelism();
  const room = service.apis * (slots + 1);
  const answers = Array.from({ length: room + 1 }, () => service.scan("one of many"));
  await Promise.race(answers);
  process.kill(own.pid, "SIGCONT");
  const statuses = (await Promise.all(answers)).map((response) => response.status);
  assert.deepEqual([statuses.filter((status) => status === 503).length, statuses.length], [1, room + 1]);
});
