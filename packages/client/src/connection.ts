export interface LazaretOptions {
  /** Where the server is, with a path if it has one in front, with or without /api/v1. LAZARET_URL when not given. */
  baseUrl?: string | URL | undefined;
  /** LAZARET_API_KEY when not given. */
  apiKey?: string | undefined;
  /** How long one try may take, from its start to the end of the answer. 120 seconds when not given. */
  timeoutMs?: number | undefined;
  /** How often a call that failed in a way that may pass is tried again. 3 when not given; 0 never does. */
  retries?: number | undefined;
  /** The fetch to use, for proxies and certificates of your own. */
  fetch?: typeof fetch | undefined;
}

/** Where calls go and what they may cost. */
export interface Connection {
  /** Without a slash at the end. */
  baseUrl: string;
  apiKey: string;
  timeoutMs: number;
  retries: number;
  fetch: typeof fetch;
}

const TIMEOUT_MS = 120_000;
const RETRIES = 3;

/** Throws a TypeError for what only the caller's code or environment can mend. The key is in no message. */
export function connectionFrom(options: LazaretOptions): Connection {
  const { timeoutMs = TIMEOUT_MS, retries = RETRIES } = options;
  if (!(timeoutMs > 0)) throw new TypeError(`timeoutMs must be more than 0, not ${timeoutMs}`);
  if (!Number.isSafeInteger(retries) || retries < 0) throw new TypeError(`retries must be 0 or more, not ${retries}`);
  return {
    baseUrl: checkedUrl(options.baseUrl ?? fromEnvironment("LAZARET_URL")),
    apiKey: checkedKey(options.apiKey ?? fromEnvironment("LAZARET_API_KEY")),
    timeoutMs,
    retries,
    // Called without a receiver: browsers and edge runtimes refuse a fetch that is a method of something else.
    fetch: options.fetch ?? ((...args) => fetch(...args)),
  };
}

function checkedUrl(given: string | URL | undefined): string {
  if (!given) throw new TypeError("no baseUrl was given, and LAZARET_URL is not set");
  const text = String(given);
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    throw new TypeError(`the baseUrl must be an http or https URL: ${text}`);
  }
  const url = new URL(text);
  if (url.username || url.password) throw new TypeError("the baseUrl must have no user name or password in it");
  if (url.search || url.hash) throw new TypeError(`the baseUrl must have no query or fragment: ${text}`);
  const path = url.pathname.replace(/\/+$/, "");
  // As API documents have it, and as other clients want it.
  return `${url.origin}${path.replace(/\/+api\/+v1$/, "")}`;
}

function checkedKey(given: string | undefined): string {
  if (!given) throw new TypeError("no apiKey was given, and LAZARET_API_KEY is not set");
  if (!/^[\x21-\x7e]+$/.test(given)) {
    throw new TypeError("the apiKey has characters that no key has, such as a space or a line break");
  }
  return given;
}

/** Edge runtimes have no process, and Deno may refuse to tell. */
function fromEnvironment(name: string): string | undefined {
  try {
    return globalThis.process?.env?.[name];
  } catch {
    return undefined;
  }
}
