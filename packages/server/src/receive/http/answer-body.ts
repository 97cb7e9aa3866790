import type { Answer } from "../exchange.ts";

interface Body {
  type: string;
  content: string | Buffer;
}

/** An answer's body with its type; undefined when it has none, or is streamed. */
export function answerBody(answer: Answer): Body | undefined {
  if (answer.rendered) return answer.rendered;
  if (answer.json !== undefined)
    return { type: "application/json; charset=utf-8", content: JSON.stringify(answer.json) };
  if (answer.html !== undefined) return { type: "text/html; charset=utf-8", content: answer.html };
  if (answer.text !== undefined) return { type: "text/plain; charset=utf-8", content: answer.text };
  return undefined;
}

/** The same answer as bytes: for one that many ask for, which then costs no memory for each of them. */
export function renderedOnce(answer: Answer): Answer {
  const body = answerBody(answer);
  if (!body) return answer;
  const { status, headers = {} } = answer;
  return { status, headers, rendered: { type: body.type, content: Buffer.from(body.content) } };
}
