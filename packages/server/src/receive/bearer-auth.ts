import { hash, timingSafeEqual } from "node:crypto";
import { Problem } from "./problem.ts";

/** Keys are kept as digests and every one is compared in full, so that time tells nothing about them. */
export interface BearerAuth {
  /**
   * The digest of the accepted secret that the request carries, in hex: as `Authorization: Bearer`, or as `x-api-key` in the
   * other dialect. Throws the 401 problem when it carries none.
   */
  check(headers: Readonly<Record<string, string | undefined>>): string;
  /** From now on these are the keys. */
  change(apiKeys: readonly string[]): void;
}

export function bearerAuth(apiKeys: readonly string[]): BearerAuth {
  let accepted = apiKeys.map(digest);

  function isAccepted(offered: Buffer): boolean {
    let matches = 0;
    for (const key of accepted) matches += timingSafeEqual(key, offered) ? 1 : 0;
    return matches > 0;
  }

  return {
    check({ authorization, "x-api-key": apiKey }) {
      const bearer = /^bearer +([\x21-\x7e]+)$/i.exec(authorization?.trim() ?? "")?.[1];
      const offered = [bearer, apiKey?.trim() || undefined].filter((key) => key !== undefined).map(digest);
      const found = offered.find(isAccepted);
      if (found) return found.toString("hex");
      if (offered.length > 0) throw unauthorized("the bearer secret is not one of this installation's API keys");
      throw unauthorized(
        authorization === undefined ? "the Authorization header is missing" : "the Authorization header is malformed",
      );
    },
    change(keys) {
      accepted = keys.map(digest);
    },
  };
}

function digest(key: string): Buffer {
  return hash("sha256", key, "buffer");
}

function unauthorized(message: string): Problem {
  return new Problem(401, "invalid_api_key", {
    message,
    hint: "send the header Authorization: Bearer <API_KEY> with one of the keys in LAZARET_API_KEYS",
    headers: { "WWW-Authenticate": "Bearer" },
  });
}
