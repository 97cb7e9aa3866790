import type { ScanResult } from "../packages/contract/src/index.ts";

/** Asks the API as a client does, who knows that it may die at any moment. */
export interface Client {
  /** Nobody is asked while it is known to be down. */
  readonly up: boolean;
  /** Undefined when nobody answered: it is down, or died before it did. */
  submit(body: object): Promise<number | undefined>;
  /** Undefined when nobody answered. */
  poll(traceId: string): Promise<{ status: number; result: ScanResult | undefined } | undefined>;
  publicKey(): Promise<string>;
}

const TIMEOUT_MS = 60_000;

export function client(apiKey: string, apiUrl: () => string | undefined): Client {
  const headers = { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" };

  async function ask(path: string, init: RequestInit = {}): Promise<{ status: number; text: string } | undefined> {
    const url = apiUrl();
    if (url === undefined) return undefined;
    try {
      const response = await fetch(`${url}${path}`, { ...init, headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
      // The status alone is the acknowledgement; what else is said may be lost with the process.
      const text = await response.text().catch(() => undefined);
      return text === undefined && init.method !== "POST" ? undefined : { status: response.status, text: text ?? "" };
    } catch {
      return undefined;
    }
  }

  return {
    get up() {
      return apiUrl() !== undefined;
    },
    async submit(body) {
      const answer = await ask("/api/v1/scan/async/download", { method: "POST", body: JSON.stringify(body) });
      return answer?.status;
    },
    async poll(traceId) {
      const answer = await ask(`/api/v1/scan/async/result?trace_id=${encodeURIComponent(traceId)}`);
      return answer && { status: answer.status, result: answer.status === 200 ? JSON.parse(answer.text) : undefined };
    },
    async publicKey() {
      const answer = await ask("/.well-known/lazaret/callback-key.pem");
      if (answer?.status !== 200) throw new Error(`cannot read the public key: ${answer?.status ?? "no answer"}`);
      return answer.text;
    },
  };
}
