import { createHash } from "node:crypto";
import type { EngineParts } from "../../src/engines/unpacking-engine.ts";
import { EngineUnavailable } from "../../src/model/faults.ts";
import type { Verdict } from "../../src/model/verdict.ts";

// #region engine
/** Knows contents by their SHA-256: digest → finding. */
export function hashEngine(known: ReadonlyMap<string, string>): NonNullable<EngineParts["clamd"]> {
  let closed = false;

  async function scan(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Verdict> {
    const hash = createHash("sha256");
    for await (const chunk of bytes) hash.update(chunk);
    signal.throwIfAborted();
    if (closed) throw new EngineUnavailable("the engine is closed");
    const finding = known.get(hash.digest("hex"));
    return finding === undefined ? { kind: "clean" } : { kind: "infected", finding };
  }

  return {
    scan,
    async show(members, signal) {
      for (const [index, member] of members.entries()) {
        const bytes = member instanceof Uint8Array ? ReadableStream.from([member]) : member.read();
        const verdict = await scan(bytes, signal);
        if (verdict.kind !== "clean") return { ...verdict, index };
      }
      return { kind: "clean" };
    },
    // It opens no container by itself, so it is shown all that is in one.
    opens: () => new Set(),
    health: async () => ({
      ready: !closed,
      checks: [{ name: "hashes", ok: !closed, detail: `${known.size} are known` }],
    }),
    async close() {
      closed = true;
    },
  };
}
// #endregion
