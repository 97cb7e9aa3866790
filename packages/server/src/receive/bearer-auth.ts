import { hash, timingSafeEqual } from "node:crypto";
import { Problem } from "./problem.ts";

/** Keys are kept as digests and every one is compared in full, so that time tells nothing about them. */
export interface BearerAuth {
  /** The digest of the accepted secret that the header carries, in hex. Throws the 401 problem when it carries none. */
  check(authorization: string | undefined): string;
}

export function bearerAuth(apiKeys: readonly string[]): BearerAuth {
  const accepted = apiKeys.map(digest);

  return {
    check(authorization) {
      const offered = /^bearer +([\x21-\x7e]+)$/i.exec(authorization?.trim() ?? "")?.[1];
      if (offered === undefined) {
        throw unauthorized(
          authorization === undefined ? "the Authorization header is missing" : "the Authorization header is malformed",
        );
      }
      const offeredDigest = digest(offered);
      let matches = 0;
      for (const key of accepted) matches += timingSafeEqual(key, offeredDigest) ? 1 : 0;
      if (matches === 0) throw unauthorized("the bearer secret is not one of this installation's API keys");
      return offeredDigest.toString("hex");
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
