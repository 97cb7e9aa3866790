import type { AdminCallback, AdminJobDetail } from "@lazaret/contract/admin";
import type { JSX } from "preact";
import { verifySnippet } from "../commands.ts";
import { Code } from "../parts/notes.tsx";
import { Stranger } from "../parts/text-parts.tsx";
import { visible } from "../text.ts";

/** What the receiver gets, and how it can be sure that it is ours. */
export function CallbackPart({ job }: { job: AdminJobDetail }): JSX.Element {
  const { callback } = job;
  if (!callback) {
    return (
      <section class="card">
        <h2>Callback</h2>
        <p class="dim">
          {job.callback_url
            ? "There is no report to send yet."
            : "No callback was asked for: the client polls for the result."}
        </p>
      </section>
    );
  }
  return (
    <section class="card">
      <h2>Callback</h2>
      <p>
        POST to <Stranger text={callback.url} />
      </p>
      <Code text={pretty(callback.payload)} copied={callback.payload} label="payload as it is sent" />
      {callback.not_kept.length > 0 && (
        <p class="dim">
          {job.state === "done" ? "Not kept after a job is done, so missing here" : "Sent, and hidden here"}:{" "}
          {callback.not_kept.map(visible).join(", ")}.
        </p>
      )}
      <SignaturePart callback={callback} />
    </section>
  );
}

function SignaturePart({ callback }: { callback: AdminCallback }): JSX.Element {
  const { signature } = callback;
  if (!signature) return <p class="dim">Callbacks of this installation are not signed.</p>;
  return (
    <>
      <h3>Signature check</h3>
      <p>What is signed, one behind the other:</p>
      <dl class="facts">
        {signature.parts.map(({ name, value }) => (
          <>
            <dt>{name}</dt>
            <dd>
              <code class="wrap">
                <Stranger text={value} />
              </code>
            </dd>
          </>
        ))}
        <dt>Signature</dt>
        <dd>
          <code class="wrap">{signature.value}</code>
        </dd>
        <dt>Fingerprint of the key</dt>
        <dd>
          <code class="wrap">{signature.fingerprint}</code>
        </dd>
        <dt>Check</dt>
        <dd>
          {signature.verifies ? (
            <b class="good">✔ verifies with the public key</b>
          ) : (
            <b class="bad">✖ does not verify with the public key</b>
          )}
        </dd>
      </dl>
      <Code text={verifySnippet()} label="verify it in a receiver" />
    </>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), undefined, 2);
  } catch {
    return json;
  }
}
