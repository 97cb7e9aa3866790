import type { Answer } from "../exchange.ts";

/** An answer's body as text with its type; undefined when it has none, or is streamed. */
export function answerBody(answer: Answer): { type: string; text: string } | undefined {
  if (answer.json !== undefined) return { type: "application/json; charset=utf-8", text: JSON.stringify(answer.json) };
  if (answer.html !== undefined) return { type: "text/html; charset=utf-8", text: answer.html };
  if (answer.text !== undefined) return { type: "text/plain; charset=utf-8", text: answer.text };
  return undefined;
}
