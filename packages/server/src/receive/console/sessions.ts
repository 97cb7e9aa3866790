import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import type { ConsoleKey } from "./console-keys.ts";

/** Who has shown a key of the console, until when. */
export interface Session {
  id: string;
  /** The key's, as `ConsoleKeys` knows it. */
  ref: string;
  /** The digest of the key's secret. */
  digest: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** Sessions are cookies: sealed here, and known to nobody else. Every process with the same secret opens them. */
export interface Sessions {
  /** Different for each installation, as browsers share cookies between the ports of a machine. */
  readonly cookieName: string;
  begin(key: Pick<ConsoleKey, "ref" | "digest">): { session: Session; cookie: string };
  /** Undefined for one that was not made here, was changed, has expired, was ended, or would last longer than any that is made. */
  open(cookie: string): Session | undefined;
  /** What a page must send to change something with this session. */
  csrfOf(session: Session): string;
  isCsrfOf(session: Session, offered: string): boolean;
  /** As far as this process knows. */
  end(session: Session): void;
}

/** 12 hours. */
export const SESSION_MS: number = 12 * 3_600_000;
/** The clock of the machine that began a session may be ahead by this much. */
const CLOCKS_DIFFER_MS = 5 * 60_000;
/** Ended ones that are remembered. */
const MOST_ENDED = 10_000;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const LONGEST_COOKIE = 1024;

/**
 * Seals with the secret of the installation, which no holder of a key knows. The keys that are set go into it only so that all
 * sessions end when these change.
 */
export function sessions(secret: Uint8Array, setKeys: readonly string[], now: () => number): Sessions {
  const salt = hash("sha256", JSON.stringify([...setKeys].sort()), "buffer");
  const derived = Buffer.from(hkdfSync("sha256", secret, salt, "lazaret console session", 64));
  const [sealKey, macKey] = [derived.subarray(0, 32), derived.subarray(32)];
  const mac = (text: string): Buffer => createHmac("sha256", macKey).update(text).digest();
  const csrf = ({ id, ref, digest }: Session): Buffer => mac(`csrf ${JSON.stringify([id, ref, digest])}`);
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

    begin({ ref, digest }) {
      const session = { id: randomBytes(16).toString("base64url"), ref, digest, expiresAt: now() + SESSION_MS };
      return { session, cookie: seal(session) };
    },

    open(cookie) {
      const session = unseal(cookie);
      if (!session || ended.has(session.id)) return undefined;
      const leftMs = session.expiresAt - now();
      return leftMs > 0 && leftMs <= SESSION_MS + CLOCKS_DIFFER_MS ? session : undefined;
    },

    csrfOf: (session) => csrf(session).toString("base64url"),
    isCsrfOf: (session, offered) => {
      const given = Buffer.from(offered, "base64url");
      const expected = csrf(session);
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
