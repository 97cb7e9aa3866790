import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { queryObjects } from "node:v8";
import type { Compiler, Rules, Scanner } from "@virustotal/yara-x";
import { instantiateWasm } from "../../unpack/web-assembly.ts";
import { type RuleSource, yaraProgram } from "./compile-rules.ts";
import { loadYara, type Yara } from "./kept-wasm.ts";
import { BUILT_IN_RULES, readRules } from "./rule-files.ts";

/** Something of everything that a condition can ask for, in several namespaces. */
const everyKind: RuleSource[] = [
  {
    name: "first.yar",
    text: `
      import "elf" import "pe" import "hash" import "math" import "string" import "console"
      private rule Hidden { strings: $a = "needle" condition: $a }
      rule ByPrivate { condition: Hidden and filesize > 64 }
      rule Counts { strings: $a = "needle" nocase condition: #a > 2 and #a in (0..500) > 1 and @a[2] > 10 and !a[1] == 6 }
      rule Offsets { strings: $a = { 6e 65 [1-4] 6c 65 } condition: $a at 0 or $a in (filesize - 20 .. filesize) }
      rule Numbers { condition: uint16(0) == 0x5a4d or uint32be(0) == 0x7f454c46 or for any i in (0..8) : ( uint8(i) == 7 ) }
      rule Program { condition: elf.machine == elf.EM_X86_64 or elf.machine == elf.EM_AARCH64 or pe.is_pe }
      rule Hash { condition: hash.md5(0, filesize) == "d41d8cd98f00b204e9800998ecf8427e" or hash.crc32(0, filesize) % 5 == 1 }
      rule Even { condition: math.entropy(0, filesize) > 5.5 and string.length("abc") == 3 }
      rule Nothing { condition: not Counts and not Offsets }
      rule Expression : tagged { meta: n = 4 f = 1.5 s = "text" strings: $r = /ne+d[a-m]{1,3}\\s?/ $x = "hay" xor(1-9) condition: any of them }
    `,
  },
  {
    name: "second.yar",
    text: `
      global rule OnlyLarge { condition: filesize > 300 }
      rule Hidden { strings: $a = "needle" wide $b = "needle" base64 condition: any of them }
      rule Last { strings: $a = "hay" fullword condition: $a and #a < 4 }
    `,
  },
];

/** Random, and the same in every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function contents(): Uint8Array[] {
  const random = randomNumbers(7);
  const pieces = [
    ...[
      "needle",
      "Needle ",
      "hay ",
      "n\0e\0e\0d\0l\0e\0",
      "bmVlZGxl",
      "neeeedle",
      "MZ",
      "\x07",
      "text of no interest ",
    ],
    ...["i`x", "x".repeat(40), "\n".repeat(300)],
  ].map((piece) => Buffer.from(piece, "latin1"));
  const made = Array.from({ length: 80 }, () =>
    Buffer.concat(Array.from({ length: random(12) }, () => pieces[random(pieces.length)] ?? Buffer.alloc(0))),
  );
  const noise = Buffer.from(Array.from({ length: 5000 }, () => random(256)));
  const large = Buffer.concat([Buffer.alloc(30_000, "hay needle "), Buffer.alloc(1_000_000, "text"), noise]);
  return [...made, noise, large, readFileSync(process.execPath).subarray(0, 300_000)];
}

function compiled(compiler: Compiler, sources: readonly RuleSource[]): { rules: Rules; scanner: Scanner } {
  for (const { name, text } of sources) {
    compiler.newNamespace(name);
    compiler.addSource(text);
  }
  const rules = compiler.build();
  return { rules, scanner: rules.scanner() };
}

const files = contents();
let expected: unknown[];
let yara: Yara;

before(async () => {
  // YARA-X as it comes, in a module of its own, before anything is changed in this thread.
  const script = createRequire(import.meta.url).resolve("@virustotal/yara-x");
  const plain: typeof import("@virustotal/yara-x") = await import(`${pathToFileURL(script).href}?plain`);
  plain.initSync({ module: readFileSync(script.replace(/\.js$/, "_bg.wasm")) });
  const { rules } = compiled(new plain.Compiler(), everyKind);
  expected = files.map((bytes) => rules.scan(bytes));
  yara = await loadYara(yaraProgram());
});

test("scans that keep their modules and memories find exactly what fresh ones find, in any order", () => {
  const names = new Set(expected.flatMap((result) => matchesOf(result)));
  // Otherwise equal results would prove little.
  assert.equal(names.size, 13, [...names].join(" "));
  const { scanner } = compiled(new yara.Compiler(), everyKind);
  const other = compiled(new yara.Compiler(), readRules(BUILT_IN_RULES)).scanner;
  const random = randomNumbers(11);
  for (let i = 0; i < 300; i += 1) {
    const index = random(files.length);
    const bytes = files[index] ?? Buffer.alloc(0);
    if (random(3) === 0) yara.scan(other, bytes);
    assert.deepEqual(yara.scan(scanner, bytes), expected[index], `file ${index}, scan ${i}`);
  }
});

test("thousands of scans leave nothing behind", () => {
  const { scanner } = compiled(new yara.Compiler(), everyKind);
  const other = compiled(new yara.Compiler(), readRules(BUILT_IN_RULES)).scanner;
  const small = files.filter((bytes) => bytes.length < 10_000);
  const scanSome = (count: number): object => {
    for (let i = 0; i < count; i += 1) {
      yara.scan(i % 3 === 0 ? other : scanner, small[i % small.length] ?? Buffer.alloc(0));
      // Other parts of the thread make instances too, in between: 7-Zip's.
      if (i % 100 === 0) instantiateWasm(emptyProgram, {});
    }
    return { references: yara.countReferences(), memoryBytes: yara.memoryBytes, instances: instancesAlive() };
  };
  // The first ones fill what is kept.
  const settled = scanSome(200);
  assert.deepEqual(scanSome(2000), settled);
});

const { WebAssembly } = globalThis as unknown as {
  WebAssembly: {
    Instance: new () => object;
    Module: new (bytes: Uint8Array) => Parameters<typeof instantiateWasm>[0];
  };
};
const emptyProgram = new WebAssembly.Module(Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00));

/** Collects the garbage first. */
function instancesAlive(): number {
  return Number(queryObjects(WebAssembly.Instance, { format: "count" }));
}

function matchesOf(result: unknown): string[] {
  const { matches } = result as { matches: { namespace: string; identifier: string }[] };
  return matches.map(({ namespace, identifier }) => `${namespace}:${identifier}`);
}
