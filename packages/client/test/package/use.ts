// Compiled against the packed package's declarations, strictly; each union must narrow as documented.
import {
  type CallbackRefusedError,
  type CallbackResult,
  createCallbackVerifier,
  fetchReceiver,
  isClean,
  Lazaret,
  LazaretError,
  type ScanResult,
} from "@lazaret/client";

function describe(result: ScanResult): string {
  switch (result.status) {
    case "clean":
      return `clean, ${result.size ?? "?"} bytes`;
    case "infected":
      return `infected: ${result.finding ?? "?"}`;
    case "no":
      return `not scanned: ${result.finding ?? "?"}`;
  }
}

const lazaret = new Lazaret({ baseUrl: undefined, apiKey: undefined });
const result = await lazaret.scan({ file: new Blob(["text"]) }, { onProgress: ({ sentBytes }) => sentBytes.toFixed() });
const narrowed: "clean" | undefined = isClean(result) ? result.status : undefined;

const wrong = await new Lazaret({ apiKey: "not-the-right-key" }).checkKey().catch((error: unknown) => {
  return error instanceof LazaretError ? `${error.status} ${error.code}` : "not ours";
});

export const POST: (request: Request) => Promise<Response> = fetchReceiver(
  createCallbackVerifier({ keyUrl: "https://lazaret.example.com/key.pem", callbackUrl: "https://app.example.com/a" }),
  ({ result }: { result: CallbackResult }) => describe(result) + result.download_url,
  { onRefused: (refusal: CallbackRefusedError) => refusal.reason satisfies string },
);

const { log } = globalThis.console;
log(JSON.stringify({ described: describe(result), narrowed, wrong }));
