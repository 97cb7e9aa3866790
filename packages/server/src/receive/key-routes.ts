import type { Answer } from "./exchange.ts";
import { renderedOnce } from "./http/answer-body.ts";
import { Problem } from "./problem.ts";
import type { Route } from "./route.ts";

export interface KeyRoutesOptions {
  /** Undefined when callbacks are not signed. Throws `QueueUnavailable`. */
  publicKeys(): Promise<{ pkcs1: string; x509: string } | undefined>;
}

const PEM = "application/x-pem-file";

/** The public key of callback signatures, for receivers; no secret, so no key is asked for. */
export function keyRoutes({ publicKeys }: KeyRoutesOptions): Route[] {
  const forms = [
    { path: "/.well-known/lazaret/callback-key.pem", form: "x509", words: "X509" },
    { path: "/.well-known/lazaret/callback-key.pkcs1.pem", form: "pkcs1", words: "PKCS1" },
  ] as const;
  const made = new Map<string, Answer>();
  /** Keys are exchanged now and then: the answers are those of one pair. */
  function answerOf(pem: string): Answer {
    const known = made.get(pem);
    if (known) return known;
    if (made.size >= forms.length) made.clear();
    const answer = renderedOnce({ status: 200, text: pem, headers: { "Content-Type": PEM } });
    made.set(pem, answer);
    return answer;
  }
  return forms.map(
    ({ path, form, words }): Route => ({
      method: "GET",
      path,
      open: true,
      doc: {
        group: "Service",
        summary: `Public key of callback signatures, as ${words} PEM`,
        success: { status: 200, description: "The key.", contentType: PEM },
        errors: { 404: ["not_found"], 503: ["queue_unavailable"] },
        example: `curl $LAZARET_URL${path}`,
      },
      async handle() {
        const keys = await publicKeys();
        if (keys) return answerOf(keys[form]);
        throw new Problem(404, "not_found", {
          message: "callbacks of this installation are not signed, or nobody has made the key yet",
          hint: "an operator can sign them with LAZARET_SIGN_CALLBACK_INVOCATIONS=true; the first worker makes the key",
        });
      },
    }),
  );
}
