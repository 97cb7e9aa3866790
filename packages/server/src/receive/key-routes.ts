import { Problem } from "./problem.ts";
import type { Route } from "./route.ts";

export interface KeyRoutesOptions {
  /** Undefined when callbacks are not signed. */
  publicKeys(): { pkcs1: string; x509: string } | undefined;
}

const PEM = "application/x-pem-file";

/** The public key of callback signatures, for receivers; no secret, so no key is asked for. */
export function keyRoutes({ publicKeys }: KeyRoutesOptions): Route[] {
  const forms = [
    { path: "/.well-known/lazaret/callback-key.pem", form: "x509", words: "X509" },
    { path: "/.well-known/lazaret/callback-key.pkcs1.pem", form: "pkcs1", words: "PKCS1" },
  ] as const;
  return forms.map(
    ({ path, form, words }): Route => ({
      method: "GET",
      path,
      open: true,
      doc: {
        group: "Service",
        summary: `Public key of callback signatures, as ${words} PEM`,
        success: { status: 200, description: "The key.", contentType: PEM },
        errors: { 404: ["not_found"] },
        example: `curl $LAZARET_URL${path}`,
      },
      async handle() {
        const keys = publicKeys();
        if (keys) return { status: 200, text: keys[form], headers: { "Content-Type": PEM } };
        throw new Problem(404, "not_found", {
          message: "callbacks of this installation are not signed",
          hint: "an operator can sign them with LAZARET_SIGN_CALLBACK_INVOCATIONS=true",
        });
      },
    }),
  );
}
