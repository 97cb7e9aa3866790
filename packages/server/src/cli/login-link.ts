import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** A token that logs somebody in, once. */
export interface LoginLink {
  /** What stands behind the service's address. In the fragment, which browsers send to nobody. */
  path: string;
  use(token: string): boolean;
}

/** Ten minutes. */
const WORKS_MS = 10 * 60_000;

export function loginLink(now: () => number = Date.now): LoginLink {
  const token = randomBytes(24).toString("base64url");
  const until = now() + WORKS_MS;
  let digest: Buffer | undefined = hash("sha256", token, "buffer");
  return {
    path: `/console/#/login?link=${token}`,
    use(offered) {
      if (!digest || now() > until || !timingSafeEqual(digest, hash("sha256", offered, "buffer"))) return false;
      digest = undefined;
      return true;
    },
  };
}
