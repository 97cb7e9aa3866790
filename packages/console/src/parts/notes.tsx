import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { visible } from "../text.ts";
import { ApiProblem, mayAct, session } from "../wire/api.ts";

/** What went wrong, what to do about it, and a way to try again. */
export function Problem({ problem, retry }: { problem: unknown; retry?: () => void }): JSX.Element | null {
  if (!problem) return null;
  const message = problem instanceof Error ? problem.message : String(problem);
  const hint = problem instanceof ApiProblem ? problem.hint : undefined;
  return (
    <div class="problem" role="alert">
      <div>
        <strong>{visible(message)}</strong>
        {hint && <p>{visible(hint)}</p>}
      </div>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Nothing there yet: how to get something. */
export function Empty(props: { title: string; children?: ComponentChildren; page?: boolean }): JSX.Element {
  const { title, children, page } = props;
  return (
    <div class="empty">
      {page ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  );
}

export function Loading(): JSX.Element {
  return (
    <p class="loading" role="status">
      Reading…
    </p>
  );
}

/** A command or some code, with a button that copies it. */
export function Code({ text, label, copied = text }: { text: string; label: string; copied?: string }): JSX.Element {
  return (
    <section class="code" aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must reach that */}
      <pre tabIndex={0}>{text.split("\n").map(visible).join("\n")}</pre>
      <Copy text={copied} label="Copy" what={label} />
    </section>
  );
}

export function Copy({
  text,
  label,
  what,
}: {
  text: string | (() => string);
  label: string;
  what?: string;
}): JSX.Element {
  const copied = useSignal(false);
  const copy = async (): Promise<void> => {
    copied.value = await toClipboard(typeof text === "string" ? text : text());
    setTimeout(() => {
      copied.value = false;
    }, 2000);
  };
  return (
    <button type="button" class="copy quiet" onClick={copy} aria-label={what ? `${label}: ${what}` : label}>
      <span aria-live="polite">{copied.value ? "Copied ✓" : label}</span>
    </button>
  );
}

/** Without HTTPS, and not on this machine, a page has no clipboard of the new kind. */
async function toClipboard(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    const written = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    if (written) return true;
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "offscreen";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

const VIEWER_REASON = "You came with a viewer key, which only looks. Log in with an admin key to do this.";

/** A button that changes something: viewers see it, with the reason why it is off. */
export function Act(props: {
  children: ComponentChildren;
  onClick: () => unknown;
  busy?: boolean;
  off?: string | false | undefined;
  danger?: boolean;
  primary?: boolean;
}): JSX.Element {
  const reason = mayAct() ? props.off : VIEWER_REASON;
  const kind = props.danger ? "danger" : props.primary ? "primary" : "";
  return (
    <button
      type="button"
      class={kind}
      disabled={Boolean(reason) || props.busy}
      {...(reason && { title: reason })}
      onClick={props.onClick}
    >
      {props.busy ? "Working…" : props.children}
    </button>
  );
}

/** Said once a page, since a disabled button has no hover on a phone. */
export function ViewerNote(): JSX.Element | null {
  return session.value?.role === "viewer" ? <p class="note">{VIEWER_REASON}</p> : null;
}

export interface Question {
  title: string;
  text: ComponentChildren;
  yes: string;
  danger?: boolean;
  act: () => unknown;
}

/** Asks before something is done that cannot be taken back. Escape is no. */
export function Confirm({
  question,
  close,
}: {
  question: Question | undefined;
  close: () => void;
}): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (question && !dialog.current?.open) dialog.current?.showModal();
  }, [question]);
  if (!question) return null;
  const yes = (): void => {
    close();
    question.act();
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="question">
      <h2 id="question">{question.title}</h2>
      <div>{question.text}</div>
      <div class="row end">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="button" class={question.danger ? "danger" : "primary"} onClick={yes}>
          {question.yes}
        </button>
      </div>
    </dialog>
  );
}
