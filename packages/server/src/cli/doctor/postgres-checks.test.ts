import assert from "node:assert/strict";
import { test } from "node:test";
import type { DatabaseState } from "../../platforms/postgres/database-state.ts";
import { stateChecks } from "./postgres-checks.ts";

const NOW = 1e12;
const well: DatabaseState = {
  server: {
    version: "15.14",
    roundTripMs: 0.4,
    aheadMs: 3,
    switchedOff: [],
    takesWrites: true,
    connections: 12,
    maxConnections: 100,
    oldestTransactionSeconds: 0,
  },
  pending: [],
  version: 1,
  sameKey: true,
  hears: true,
  missingRights: [],
  tables: [{ name: "jobs", bytes: 8192, live: 3, dead: 1, vacuumedAt: NOW - 120_000 }],
};

function trouble(
  state: Partial<Omit<DatabaseState, "server">>,
  server: Partial<DatabaseState["server"]> = {},
): string[] {
  const checks = stateChecks({ ...well, ...state, server: { ...well.server, ...server } }, NOW);
  return checks
    .filter(({ level }) => level !== "ok")
    .map(({ level, name, detail, fix }) => `${level} ${name}: ${detail} | ${fix}`);
}

test("a database that is well has nothing to mend, and its figures are told", () => {
  assert.deepEqual(trouble({}), []);
  const checks = stateChecks(well, NOW);
  assert.match(checks.map(({ detail }) => detail).join("\n"), /PostgreSQL 15\.14, 0\.4 ms to it and back, 12 of 100/);
  assert.match(checks.at(-1)?.detail ?? "", /jobs 8\.0 KB, 3 rows and 1 dead, vacuumed 2 min ago/);
  assert.deepEqual(checks.at(-1)?.figures, { jobs_bytes: 8192, jobs_rows: 3, jobs_dead_rows: 1 });
});

const bloated = [{ name: "jobs", bytes: 1e9, live: 10, dead: 80_000, vacuumedAt: null }];
const cases: [
  what: string,
  said: RegExp,
  state: Parameters<typeof trouble>[0],
  server?: Parameters<typeof trouble>[1],
][] = [
  ["a replica", /^fail database: .*takes no writes \| .*primary/, {}, { takesWrites: false }],
  ["a database far away", /^warn database: .*41\.0 ms.*\| run lazaret near/, {}, { roundTripMs: 41 }],
  ["no connection left", /^warn database: .*95 of 100 .*\| raise max_connections/, {}, { connections: 95 }],
  ["fsync off", /^warn durability: fsync is off.*loses jobs/, {}, { switchedOff: ["fsync"] }],
  ["clocks apart", /^warn clock: the database's is 300 s behind/, {}, { aheadMs: -300_000 }],
  ["another key", /^fail secret key: .*another key \| LAZARET_SECRET_KEY must be the same/, { sameKey: false }],
  ["rights missing", /^fail rights: .*lacks DELETE on lazaret\.jobs/, { missingRights: ["DELETE on lazaret.jobs"] }],
  ["no schema yet", /^warn schema: not made yet, 0001.* \| .*lazaret migrate/, { version: 0, pending: ["0001"] }],
  ["a deaf connection", /^warn wake-ups: .*\| fine behind a pooler in transaction mode/, { hears: false }],
  [
    "bloat",
    /^warn tables: .*jobs has more dead rows.*never|^warn tables: .*\| see that autovacuum runs/,
    { tables: bloated },
  ],
  ["bloat behind a transaction", /open for 4000 s/, { tables: bloated }, { oldestTransactionSeconds: 4000 }],
];

for (const [what, said, state, server] of cases) {
  test(`tells of ${what}, and what to do`, () => {
    const found = trouble(state, server);
    assert.equal(found.length, 1, found.join("\n"));
    assert.match(found[0] ?? "", said);
  });
}
