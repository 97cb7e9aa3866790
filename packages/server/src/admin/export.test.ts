import assert from "node:assert/strict";
import { test } from "node:test";
import { exported } from "./export.ts";

test("nothing more is read for a client that has hung up, though nothing was found for it yet", async () => {
  for (const format of ["ndjson", "csv"]) {
    let reads = 0;
    const { stream } = exported<{ id: string }>(new URLSearchParams({ format }), {
      name: "things",
      async read() {
        reads += 1;
        if (reads > 100) throw new Error("it goes on and on");
        return { entries: [], next: String(reads) };
      },
      columns: { id: ({ id }) => id },
    });
    const bytes = stream?.bytes[Symbol.asyncIterator]();
    await bytes?.next();
    await bytes?.next();
    await bytes?.return?.();
    assert.ok(reads <= 2, `${format}: ${reads}`);
  }
});
