import type { AdminCallbackKeys, AdminCallbackTest } from "@lazaret/contract/admin";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { callbackKeyCurl, verifySnippet } from "../commands.ts";
import { Act, Code, Copy, Loading, Problem } from "../parts/notes.tsx";
import { duration, visible } from "../text.ts";
import { get, post } from "../wire/api.ts";
import { useLoad } from "../wire/load.ts";

export function CallbackKeys(): JSX.Element {
  const { data, problem, reload } = useLoad<AdminCallbackKeys>("callback-keys", (signal) =>
    get("callback-keys", {}, signal),
  );
  return (
    <section class="card" aria-label="Public key of callbacks">
      <h2>Public key of callbacks</h2>
      <Problem problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data && !data.signed && (
        <p>
          Callbacks are not signed here. Turn it on with <code>LAZARET_SIGN_CALLBACK_INVOCATIONS=true</code>, so that
          receivers know who calls.
        </p>
      )}
      {data?.keys.map(({ fingerprint, bits, spki_pem, pkcs1_pem, current }) => (
        <div class="callback-key">
          <dl class="facts">
            <dt>Fingerprint</dt>
            <dd>
              <code class="wrap">{fingerprint}</code> <Copy label="Copy" what="fingerprint" text={fingerprint} />
            </dd>
            <dt>Kind</dt>
            <dd>
              RSA, {bits} bits, {current ? "signs now" : "signed before, still verifies"}
            </dd>
          </dl>
          <details>
            <summary>PEM as most libraries want it (SPKI)</summary>
            <Code text={spki_pem} label="SPKI PEM" />
          </details>
          <details>
            <summary>PEM as some older ones want it (PKCS#1)</summary>
            <Code text={pkcs1_pem} label="PKCS#1 PEM" />
          </details>
        </div>
      ))}
      {data?.signed && (
        <>
          <h3>Verify in a receiver</h3>
          <Code text={verifySnippet()} label="verify with the client" />
          <Code text={callbackKeyCurl()} label="curl for the key" />
        </>
      )}
    </section>
  );
}

/** What a receiver answers, now. */
export function CallbackTest(): JSX.Element {
  const url = useSignal("");
  const busy = useSignal(false);
  const problem = useSignal<unknown>(undefined);
  const result = useSignal<AdminCallbackTest | undefined>(undefined);
  const send = async (): Promise<void> => {
    busy.value = true;
    problem.value = undefined;
    result.value = undefined;
    try {
      result.value = await post<AdminCallbackTest>("callback-test", { url: url.value });
    } catch (error) {
      problem.value = error;
    }
    busy.value = false;
  };
  return (
    <section class="card" aria-label="Send a test callback">
      <h2>Send a test callback</h2>
      <div class="inline">
        <label class="field wide">
          <span>Receiver</span>
          <input
            type="url"
            placeholder="https://you.example.com/scanned"
            value={url.value}
            onInput={(event) => {
              url.value = event.currentTarget.value;
            }}
          />
        </label>
        <Act primary busy={busy.value} off={!URL.canParse(url.value) && "Give the receiver's address"} onClick={send}>
          Send
        </Act>
      </div>
      <div aria-live="polite">
        {result.value && <Answer result={result.value} />}
        <Problem problem={problem.value} />
      </div>
    </section>
  );
}

function Answer({ result }: { result: AdminCallbackTest }): JSX.Element {
  const { delivered, status, code, message, ms, payload, header_names: headers } = result;
  return (
    <>
      <p>
        {delivered ? <b class="good">✔ taken</b> : <b class="bad">✖ not taken</b>}{" "}
        {status !== undefined && `status ${status}`} {code && visible(code)} {message && visible(message)}{" "}
        <span class="dim number">{duration(ms)}</span>
      </p>
      <p class="dim">Sent with the headers {headers.map(visible).join(", ")}.</p>
      <Code text={payload} label="payload sent" />
    </>
  );
}
