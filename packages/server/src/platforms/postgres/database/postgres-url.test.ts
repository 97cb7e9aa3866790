import assert from "node:assert/strict";
import { test } from "node:test";
import { type DatabaseAddress, parsePostgresUrl } from "./postgres-url.ts";

function parsed(text: string): DatabaseAddress {
  const found = parsePostgresUrl(text);
  if ("problem" in found) throw new Error(found.problem);
  return found.value;
}

const plain: DatabaseAddress = {
  servers: [{ host: "localhost", port: 5432 }],
  user: undefined,
  password: undefined,
  database: undefined,
  options: undefined,
  tls: undefined,
  primaryOnly: false,
};
const several = {
  servers: [
    { host: "a", port: 1 },
    { host: "b", port: 2 },
  ],
  primaryOnly: true,
};
const tls = (text: string): DatabaseAddress["tls"] => parsed(`postgresql://u@h/db?${text}`).tls;

test("one host or several, as a URL or in words, as libpq has them", () => {
  const cases: Record<string, Partial<DatabaseAddress>> = {
    "postgresql://": {},
    "postgres://u:p@h:6000/db": { user: "u", password: "p", database: "db", servers: [{ host: "h", port: 6000 }] },
    "postgresql://u%40x:p%2F%3A%25:+@h/d%20b": {
      user: "u@x",
      password: "p/:%:+",
      database: "d b",
      servers: [{ host: "h", port: 5432 }],
    },
    "postgresql://u:a@b@h/db": { user: "u", password: "a@b", database: "db", servers: [{ host: "h", port: 5432 }] },
    "postgresql://u@a:1,b:2/db?target_session_attrs=read-write": { user: "u", database: "db", ...several },
    "postgresql://u@/db?host=a,b&port=1,2": { user: "u", database: "db", ...several },
    "postgresql://u@a,[::1]:7/db": {
      user: "u",
      database: "db",
      primaryOnly: true,
      servers: [
        { host: "a", port: 5432 },
        { host: "::1", port: 7 },
      ],
    },
    "postgresql://u@%2Frun%2Fpg/db": { user: "u", database: "db", servers: [{ host: "/run/pg", port: 5432 }] },
    "postgresql://u@/db?host=/run/pg&options=-c%20x%3Dy": {
      user: "u",
      database: "db",
      servers: [{ host: "/run/pg", port: 5432 }],
      options: "-c x=y",
    },
    "host=a,b port=1,2 user=u dbname=db target_session_attrs=read-write": { user: "u", database: "db", ...several },
    "host=a,b port=9": {
      servers: [
        { host: "a", port: 9 },
        { host: "b", port: 9 },
      ],
      primaryOnly: true,
    },
    "user=u password='p \\'q\\\\'": { user: "u", password: "p 'q\\" },
    "postgresql://h/db?target_session_attrs=primary": {
      servers: [{ host: "h", port: 5432 }],
      database: "db",
      primaryOnly: true,
    },
  };
  for (const [text, expected] of Object.entries(cases)) {
    assert.deepEqual(parsed(text), { ...plain, ...expected }, text);
  }
});

test("TLS is asked for in four words, and none of them falls back to a connection in clear", () => {
  assert.equal(tls("sslmode=disable"), undefined);
  assert.deepEqual(tls("sslmode=require"), { verify: "nothing" });
  assert.deepEqual(tls("sslmode=require&sslrootcert=/ca"), { verify: "authority", rootCert: "/ca" });
  assert.deepEqual(tls("sslmode=verify-ca&sslrootcert=/ca"), { verify: "authority", rootCert: "/ca" });
  assert.deepEqual(tls("sslmode=verify-full"), { verify: "name" });
  assert.deepEqual(tls("sslmode=verify-full&sslrootcert=system"), { verify: "name" });
  assert.deepEqual(tls("sslrootcert=/ca"), { verify: "name", rootCert: "/ca" });
  const own = { cert: "/c", key: "/k" };
  assert.deepEqual(tls("sslmode=verify-full&sslcert=/c&sslkey=/k"), { verify: "name", ...own });
});

test("what is wrong is said, and never with a part of the text, which may be of the password", () => {
  const cases: Record<string, RegExp> = {
    "postgresql://u:p/canary@h/db": /write .* in a password as/,
    "postgresql://u:canary?x@h/db": /has a parameter, which is none/,
    "postgresql://u:p%canary@h/db": /no escape/,
    "postgresql://u:canary@h:port/db": /port that is no number/,
    "postgresql://u:canary@h:0/db": /port that is no number/,
    "postgresql://u:canary@a,b/db?port=1,2,3": /2 hosts and 3 ports/,
    "postgresql://u:canary@h/db?sslmode=prefer": /sslmode that is not/,
    "postgresql://u:canary@h/db?sslmode=verify-ca": /needs sslrootcert/,
    "postgresql://u:canary@h/db?sslmode=require&sslcert=/c": /both of sslcert and sslkey/,
    "postgresql://u:canary@h/db?ssl=true": /parameter ssl, which is none/,
    "postgresql://u:canary@h/db?target_session_attrs=standby": /takes no writes: use read-write/,
    "mysql://u:canary@h/db": /must be postgresql:/,
    "host=h canary": /must be postgresql:/,
    "host = h  password = 'it''s' ": /must be postgresql:/,
    canary: /must be postgresql:/,
  };
  for (const [text, expected] of Object.entries(cases)) {
    const found = parsePostgresUrl(text);
    assert.ok("problem" in found, text);
    assert.match(found.problem, expected, text);
    assert.doesNotMatch(found.problem, /canary/, text);
  }
});
