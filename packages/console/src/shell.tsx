import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { address, go } from "./address.ts";
import { helpOpen, PLACES } from "./keyboard.ts";
import { Icon, type IconName } from "./parts/icons.tsx";
import { Problem } from "./parts/notes.tsx";
import { theme, toggleTheme } from "./theme.ts";
import { logOut, session } from "./wire/api.ts";
import { connected, paused } from "./wire/live.ts";

const RAIL: { path: string; icon: IconName; word: string }[] = [
  { path: "/", icon: "scan", word: "Scan" },
  { path: "/jobs", icon: "activity", word: "Activity" },
  { path: "/findings", icon: "findings", word: "Findings" },
  { path: "/dead-letters", icon: "dead", word: "Dead letters" },
  { path: "/engines", icon: "engines", word: "Engines" },
  { path: "/buckets", icon: "buckets", word: "Buckets" },
  { path: "/keys", icon: "keys", word: "Keys" },
  { path: "/settings", icon: "settings", word: "Settings" },
];

/** The rail, the top bar, and a page between them. */
export function Shell({ children }: { children: ComponentChildren }): JSX.Element {
  const toContent = (): void => {
    document.getElementById("content")?.focus();
  };
  return (
    <>
      <button type="button" class="skip" onClick={toContent}>
        Skip to the content
      </button>
      <div class="shell">
        <TopBar />
        <nav class="rail" aria-label="Pages">
          {RAIL.map(({ path, icon, word }) => (
            <a href={`#${path}`} {...(isHere(path) && { "aria-current": "page" as const })}>
              <Icon name={icon} />
              <span>{word}</span>
            </a>
          ))}
        </nav>
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Help />
    </>
  );
}

function isHere(path: string): boolean {
  const here = address.value.path;
  return path === "/" ? here === "/" : here === path || here.startsWith(`${path}/`);
}

function TopBar(): JSX.Element {
  const problem = useSignal<unknown>(undefined);
  const { who, role, installation } = session.value ?? { who: "", role: "viewer", installation: undefined };
  const leave = (): void => {
    logOut().catch((error: unknown) => {
      problem.value = error;
    });
  };
  return (
    <header class="top">
      <a class="name" href="#/">
        <span class="mark">Lazaret</span>
        <span class="installation">{installation?.name}</span>
      </a>
      <Connection />
      <Search />
      <button
        type="button"
        class="quiet icon-only"
        onClick={toggleTheme}
        aria-label={`Switch to ${theme.value === "dark" ? "light" : "dark"}`}
        title="Light or dark"
      >
        <Icon name="theme" />
      </button>
      <span class="who" title={role === "admin" ? "may look and act" : "may look, not act"}>
        <b>{who}</b> <span class="role">{role}</span>
      </span>
      <button type="button" class="quiet" onClick={leave}>
        Log out
      </button>
      <Problem problem={problem.value} retry={leave} />
    </header>
  );
}

const CONNECTION = {
  live: { glyph: "●", word: "live", title: "Pause: lists stand still until you resume" },
  paused: { glyph: "‖", word: "paused", title: "Resume" },
  reconnecting: {
    glyph: "○",
    word: "reconnecting",
    title: "The server does not answer; this page tries again by itself",
  },
} as const;

function Connection(): JSX.Element {
  const state = paused.value ? "paused" : connected.value ? "live" : "reconnecting";
  const { glyph, word, title } = CONNECTION[state];
  const toggle = (): void => {
    paused.value = !paused.value;
  };
  return (
    <>
      <button
        type="button"
        class={`connection quiet ${state}`}
        onClick={toggle}
        title={title}
        aria-pressed={paused.value}
      >
        <span aria-hidden="true">{glyph}</span> {word}
      </button>
      {/* What is in a button is not announced when it changes. */}
      <span class="offscreen" role="status">
        {word}
      </span>
    </>
  );
}

function Search(): JSX.Element {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const input = document.getElementById("search");
    const q = input instanceof HTMLInputElement ? input.value.trim() : "";
    if (!q) return;
    go("/search", { q });
    // Out of the field, so that the keys for pages work again.
    document.getElementById("content")?.focus();
  };
  return (
    <search class="search">
      <form onSubmit={submit}>
        <Icon name="search" />
        <input
          id="search"
          type="search"
          aria-label="Search: trace id, bucket or key, host, finding"
          placeholder="trace id, bucket/key, host…   /"
          value={address.value.path === "/search" ? (address.value.query.q ?? "") : ""}
        />
      </form>
    </search>
  );
}

function Help(): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helpOpen.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  if (!open) return null;
  const close = (): void => {
    helpOpen.value = false;
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="help-title">
      <h2 id="help-title">Keyboard</h2>
      <dl class="keys-help">
        <dt>
          <kbd>/</kbd>
        </dt>
        <dd>Search</dd>
        {Object.entries(PLACES).map(([key, { name }]) => (
          <>
            <dt>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>{name}</dd>
          </>
        ))}
        <dt>
          <kbd>?</kbd>
        </dt>
        <dd>This help</dd>
        <dt>
          <kbd>Esc</kbd>
        </dt>
        <dd>Close, leave a field</dd>
      </dl>
      <div class="row end">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </dialog>
  );
}
