import type { Kind } from "../kinds.ts";
import type { Text } from "./text.ts";

const TOKEN =
  /\s+|"[^"\\\n]*(?:\\["\\/bfnrtu][^"\\\n]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|true(?!\w)|false(?!\w)|null(?!\w)|[[\]{},:]/y;

const LOOKED_CHARACTERS = 1024;

/**
 * JSON as far as the start of the text shows it: what is there is valid JSON, an object or a list, and the end
 * closes one. No parser: tokens in their allowed order, over a thousand characters at most.
 */
export function jsonKind(text: Text): Kind | undefined {
  const start = text.start.slice(0, LOOKED_CHARACTERS);
  const whole = text.whole && start.length === text.start.length;
  if (!/^\s*[[{]/.test(start) || !/[\]}]\s*$/.test(text.end)) return undefined;
  const open: string[] = [];
  let values = 0;
  let expected = "value";
  let token: string | undefined;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < start.length) {
    const at = TOKEN.lastIndex;
    token = TOKEN.exec(start)?.[0];
    // The last token of a longer text is cut somewhere.
    if (token === undefined) return !whole && isCutToken(start.slice(at)) ? kindFor(values) : undefined;
    if (token.trim() === "") continue;
    const next = step(token, expected, open);
    if (next === undefined) return undefined;
    expected = next;
    if (open.length === 0) {
      values++;
      expected = "value";
    }
  }
  return whole && open.length > 0 ? undefined : kindFor(values);
}

function kindFor(values: number): Kind {
  return values > 1 ? "ndjson" : "json";
}

/** What may follow; nothing when the token may not stand here. `open` holds the brackets not yet closed. */
function step(token: string, expected: string, open: string[]): string | undefined {
  switch (token) {
    case "{":
    case "[":
      if (!expected.includes("value")) return undefined;
      open.push(token);
      return token === "{" ? "key or }" : "value or ]";
    case "}":
    case "]":
      if (!expected.includes(token) || open.pop() !== (token === "}" ? "{" : "[")) return undefined;
      return after(open);
    case ":":
      return expected === ":" ? "value" : undefined;
    case ",":
      if (!expected.includes(",")) return undefined;
      return open.at(-1) === "{" ? "key" : "value";
    default:
      if (token.startsWith('"') && expected.includes("key")) return ":";
      return expected.includes("value") && open.length > 0 ? after(open) : undefined;
  }
}

function after(open: readonly string[]): string {
  return open.at(-1) === "{" ? ", or }" : ", or ]";
}

function isCutToken(rest: string): boolean {
  return rest.startsWith('"') ? !rest.includes("\n") : /^[-\w.+]{1,40}$/.test(rest);
}
