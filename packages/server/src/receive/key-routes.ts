import { Problem } from "./problem.ts";
import { type Answer, renderedOnce } from "./request-answer.ts";
import type { Endpoint, Handle } from "./route.ts";

export interface KeyHandlersOptions {
  /** Undefined when callbacks are not signed. Throws `QueueUnavailable`. */
  publicKeys(): Promise<{ pkcs1: string; x509: string } | undefined>;
}

type KeyEndpoint = "callbackKey" | "callbackKeyPkcs1";

const PEM = "application/x-pem-file";

const keyDoc = {
  group: "Service",
  success: { status: 200, description: "The key.", contentType: PEM },
  errors: { 404: ["not_found"], 503: ["queue_unavailable"] },
} as const;

/** The public key of callback signatures, for receivers; no secret, so no key is asked for. */
export const keyEndpoints: Record<KeyEndpoint, Endpoint> = {
  callbackKey: {
    doc: {
      ...keyDoc,
      summary: "Public key of callback signatures, as X509 PEM",
      example: "curl $LAZARET_URL/.well-known/lazaret/callback-key.pem",
    },
  },
  callbackKeyPkcs1: {
    doc: {
      ...keyDoc,
      summary: "Public key of callback signatures, as PKCS1 PEM",
      example: "curl $LAZARET_URL/.well-known/lazaret/callback-key.pkcs1.pem",
    },
  },
};

export function keyHandlers({ publicKeys }: KeyHandlersOptions): Record<KeyEndpoint, Handle> {
  const made = new Map<string, Answer>();
  /** Keys are exchanged now and then: the answers are those of one pair. */
  function answerOf(pem: string): Answer {
    const known = made.get(pem);
    if (known) return known;
    if (made.size >= 2) made.clear();
    const answer = renderedOnce({ status: 200, text: pem, headers: { "Content-Type": PEM } });
    made.set(pem, answer);
    return answer;
  }
  async function answer(form: "x509" | "pkcs1"): Promise<Answer> {
    const keys = await publicKeys();
    if (keys) return answerOf(keys[form]);
    throw new Problem(404, "not_found", {
      message: "callbacks of this installation are not signed, or nobody has made the key yet",
      hint: "an operator can sign them with LAZARET_SIGN_CALLBACK_INVOCATIONS=true; the first worker makes the key",
    });
  }
  return { callbackKey: () => answer("x509"), callbackKeyPkcs1: () => answer("pkcs1") };
}
