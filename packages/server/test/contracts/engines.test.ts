import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { clamd } from "../../src/engines/clamd/clamd.ts";
import { unpackThreads } from "../../src/engines/threads/scan-threads.ts";
import { unpackingEngine } from "../../src/engines/unpacking-engine.ts";
import { startEngine } from "../../src/engines/variants.ts";
import { payloadsOf, writeRules, writeSignatures } from "../fixtures/corpus/payloads.ts";
import { testClamd } from "../support/clamd.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { rulesEngine } from "../support/rules-engine.ts";
import { engineContract } from "./engine.ts";
import { hashEngine } from "./hash-engine.ts";

const folder = temporaryFolder();
atTheEnd(() => folder[Symbol.dispose]());
const signaturesDir = join(folder.path, "signatures");
const rulesDir = join(folder.path, "rules");
writeSignatures(signaturesDir);
writeRules(rulesDir);
const signatures = Object.fromEntries(
  readdirSync(signaturesDir).map((name) => [name, readFileSync(join(signaturesDir, name), "utf8")]),
);
const daemon = await testClamd({}, { signatures });
atTheEnd(() => daemon[Symbol.asyncDispose]());

const address = { kind: "unix", path: daemon.socketPath } as const;
const rules = { rulesDir, temporaryFolder: folder.path, threads: 1 };
const outage = { begin: daemon.kill, end: daemon.start };
const concurrency = 2;
// Each payload is known to one of them only: what one misses, the other does not hide.
const [byClamd, byRule] = [payloadsOf.clamd, payloadsOf.rule];
const contents = (payloads: typeof byRule): Buffer[] => payloads.map(({ content }) => content);

engineContract({
  name: "clamd",
  make: async () => clamd({ address, concurrency, temporaryDir: daemon.temporaryDir }),
  knows: byClamd,
  strange: contents(byRule),
  outage,
});
engineContract({ name: "rules", make: () => rulesEngine(rules), knows: byRule, strange: contents(byClamd) });
engineContract({
  name: "Q",
  make: () => startEngine({ variant: "Q", clamd: address, concurrency }),
  knows: byClamd,
  strange: contents(byRule),
  outage,
});
engineContract({
  name: "P alone",
  make: () => startEngine({ variant: "P", clamd: undefined, concurrency, rules }),
  knows: byRule,
  strange: contents(byClamd),
});
engineContract({
  name: "P with clamd",
  make: () => startEngine({ variant: "P", clamd: address, concurrency, rules }),
  knows: [...byClamd, ...byRule],
  strange: [],
  outage,
});
// What they have seen before must not make a difference.
const verdictCache = 1000;
engineContract({
  name: "Q with a cache",
  make: () => startEngine({ variant: "Q", clamd: address, concurrency, verdictCache }),
  knows: byClamd,
  strange: contents(byRule),
  outage,
});
engineContract({
  name: "P alone with a cache",
  make: () => startEngine({ variant: "P", clamd: undefined, concurrency, rules, verdictCache }),
  knows: byRule,
  strange: contents(byClamd),
});
engineContract({
  name: "P with clamd and a cache",
  make: () => startEngine({ variant: "P", clamd: address, concurrency, rules, verdictCache }),
  knows: [...byClamd, ...byRule],
  strange: [],
  outage,
});

// The engine of docs/add-an-engine.md.
const digest = (content: Buffer): string => createHash("sha256").update(content).digest("hex");
const known = new Map(byClamd.map(({ content, finding }) => [digest(content), finding]));
// #region suite
engineContract({
  name: "hashes",
  make: async () => unpackingEngine({ threads: unpackThreads({ threads: 1 }), clamd: hashEngine(known) }),
  knows: byClamd,
  strange: contents(byRule),
});
// #endregion
