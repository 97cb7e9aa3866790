import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";

/** Who has shown a key of the console, until when. */
export interface Session {
  id: string;
  /** The key's, as `ConsoleKeys` knows it. */
  ref: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** Sessions are cookies: sealed here, and known to nobody else. Every process with the same secret opens them. */
export interface Sessions {
  /** Of its own for each secret, as browsers share cookies between the ports of a machine. */
  readonly cookieName: string;
  begin(ref: string): { session: Session; cookie: string };
  /** Undefined for one that was not made here, was changed, has expired or was ended. */
  open(cookie: string): Session | undefined;
  /** What a page must send to change something with this session. */
  csrfOf(session: Session): string;
  isCsrfOf(session: Session, offered: string): boolean;
  /** As far as this process knows. */
  end(session: Session): void;
}

/** 12 hours. */
export const SESSION_MS: number = 12 * 3_600_000;
/** Ended ones that are remembered. */
const MOST_ENDED = 10_000;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const LONGEST_COOKIE = 1024;

/** One secret of several keys, so that who knows it all along can open what others sealed. */
export function sessionSecret(keys: readonly string[]): Buffer {
  return Buffer.from([...keys].sort().join("\n"));
}

export function sessions(secret: Uint8Array, now: () => number): Sessions {
  const derived = Buffer.from(hkdfSync("sha256", secret, "", "lazaret console session", 64));
  const [sealKey, macKey] = [derived.subarray(0, 32), derived.subarray(32)];
  const mac = (text: string): Buffer => createHmac("sha256", macKey).update(text).digest();
  const ended = new Map<string, number>();

  function seal(session: Session): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", sealKey, iv);
    const sealed = Buffer.concat([cipher.update(JSON.stringify(session), "utf8"), cipher.final()]);
    return Buffer.concat([iv, sealed, cipher.getAuthTag()]).toString("base64url");
  }

  function unseal(cookie: string): Session | undefined {
    const bytes = Buffer.from(cookie, "base64url");
    if (cookie.length > LONGEST_COOKIE || bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
    const decipher = createDecipheriv("aes-256-gcm", sealKey, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const opened = [decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()];
      return JSON.parse(Buffer.concat(opened).toString("utf8")) as Session;
    } catch {
      return undefined;
    }
  }

  return {
    cookieName: `lazaret_${mac("cookie").toString("hex").slice(0, 8)}`,

    begin(ref) {
      const session = { id: randomBytes(16).toString("base64url"), ref, expiresAt: now() + SESSION_MS };
      return { session, cookie: seal(session) };
    },

    open(cookie) {
      const session = unseal(cookie);
      return session && session.expiresAt > now() && !ended.has(session.id) ? session : undefined;
    },

    csrfOf: ({ id }) => mac(`csrf ${id}`).toString("base64url"),
    isCsrfOf: ({ id }, offered) => {
      const given = Buffer.from(offered, "base64url");
      const expected = mac(`csrf ${id}`);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },

    end({ id, expiresAt }) {
      for (const [each, until] of ended) if (until <= now()) ended.delete(each);
      const [oldest] = ended.keys();
      if (ended.size >= MOST_ENDED && oldest !== undefined) ended.delete(oldest);
      ended.set(id, expiresAt);
    },
  };
}
