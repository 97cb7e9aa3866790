import type { AdminSource, JobStateName, Verdict as VerdictWord } from "@lazaret/contract/admin";
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { ago, bytes, exactTime, pieces, visible } from "../text.ts";

/** Text that a stranger chose: a text node, with what turns or hides text made visible, and no influence on what stands around it. */
export function Stranger({ text, short }: { text: string; short?: boolean }): JSX.Element {
  return (
    <bdi class={short ? "stranger short" : "stranger"} {...(short && { title: visible(text) })}>
      {pieces(text).map(({ text: piece, control }) => (control ? <span class="control">{piece}</span> : piece))}
    </bdi>
  );
}

const VERDICTS = {
  clean: { glyph: "✔", word: "clean" },
  infected: { glyph: "✖", word: "infected" },
  no: { glyph: "!", word: "not scanned" },
} as const;

/** Never by colour alone. */
export function Verdict({ verdict, big }: { verdict: VerdictWord; big?: boolean }): JSX.Element {
  const { glyph, word } = VERDICTS[verdict];
  return (
    <span class={`verdict ${verdict}${big ? " big" : ""}`}>
      <span class="glyph" aria-hidden="true">
        {glyph}
      </span>
      {word}
    </span>
  );
}

export const STATES: Readonly<Record<JobStateName, string>> = {
  queued: "queued",
  under_way: "under way",
  retrying: "retrying",
  done: "done",
  dead: "dead",
};

export function State({ state }: { state: JobStateName }): JSX.Element {
  return <span class={`state ${state}`}>{STATES[state]}</span>;
}

const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 5000);

/** Relative, exact on hover. */
export function Ago({ at }: { at: number }): JSX.Element {
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {ago(at, Math.max(now.value, at > Date.now() ? 0 : at))}
    </time>
  );
}

export function Size({ size }: { size: number }): JSX.Element {
  return (
    <span class="number" title={`${size.toLocaleString("en")} bytes`}>
      {bytes(size)}
    </span>
  );
}

export function sourceText(source: AdminSource): string {
  if (source.kind === "url") return source.url;
  if (source.kind === "object") return `${source.bucket}/${source.key}`;
  return source.name ?? "upload";
}

const KINDS = { url: "link", object: "object", upload: "upload" } as const;

export function Source({ source, short }: { source: AdminSource; short?: boolean }): JSX.Element {
  return (
    <span class="source">
      <span class="kind">{KINDS[source.kind]}</span> <Stranger text={sourceText(source)} {...(short && { short })} />
    </span>
  );
}
