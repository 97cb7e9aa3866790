import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { address, go } from "../address.ts";
import { Loading, Problem } from "../parts/notes.tsx";
import { loggedOutBecause, logIn, readSession } from "../wire/api.ts";

/** The address stays what it was, so that who logs in is back there. */
export function LoginPage(): JSX.Element {
  const problem = useSignal<unknown>(undefined);
  const busy = useSignal(false);
  const { link } = address.value.query;

  const enter = async (secret: { key: string } | { link: string }): Promise<void> => {
    busy.value = true;
    problem.value = undefined;
    try {
      await logIn(secret);
    } catch (error) {
      problem.value = error;
      // A link that was used before is no reason to leave who is logged in already outside.
      if ("link" in secret) await readSession().catch(() => undefined);
    }
    busy.value = false;
  };
  // A link works once.
  useEffect(() => {
    document.title = "Log in · Lazaret";
    if (address.value.path !== "/login" || !link) return;
    // Out of the address at once: it must not be copied, nor tried again when the page is loaded again.
    go("/", {}, "replace");
    void enter({ link });
  }, []);

  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const input = document.getElementById("key");
    if (input instanceof HTMLInputElement && input.value) void enter({ key: input.value });
  };
  return (
    <main class="alone login">
      <h1>Lazaret</h1>
      <p class="dim">Malware scanning that you run yourself.</p>
      {loggedOutBecause.value && !problem.value && (
        <p class="note" role="status">
          {loggedOutBecause.value}
        </p>
      )}
      <form onSubmit={submit}>
        <label class="field" for="key">
          <span>Admin or viewer key</span>
        </label>
        <input id="key" type="password" autocomplete="current-password" spellcheck={false} required />
        <button type="submit" class="primary" disabled={busy.value}>
          Log in
        </button>
        {busy.value && <Loading />}
      </form>
      <Problem problem={problem.value} />
      <details>
        <summary>Which key?</summary>
        <p>
          One of <code>LAZARET_ADMIN_KEYS</code> or <code>LAZARET_VIEWER_KEYS</code>, or one that was made by{" "}
          <code>lazaret keys create --scope admin</code>. API keys of programs do not open the console.{" "}
          <code>lazaret dev</code> prints a link that logs in once.
        </p>
      </details>
    </main>
  );
}
