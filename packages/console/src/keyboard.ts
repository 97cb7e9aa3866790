import { signal } from "@preact/signals";
import { go } from "./address.ts";

export const helpOpen = signal(false);

/** After `g`. */
export const PLACES: Readonly<Record<string, { path: string; name: string }>> = {
  s: { path: "/", name: "Scan" },
  j: { path: "/jobs", name: "Activity: jobs" },
  f: { path: "/findings", name: "Findings" },
  d: { path: "/dead-letters", name: "Dead letters" },
  e: { path: "/engines", name: "Engines" },
  b: { path: "/buckets", name: "Buckets" },
  k: { path: "/keys", name: "Keys and callbacks" },
  x: { path: "/settings", name: "Settings" },
};

const AFTER_G_MS = 1500;
let gAt = 0;

/** Returns what ends it. */
export function startKeyboard(): () => void {
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") leave();
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const place = event.timeStamp - gAt < AFTER_G_MS ? PLACES[event.key] : undefined;
  gAt = event.key === "g" ? event.timeStamp : 0;
  if (place) go(place.path);
  else if (event.key === "/") focusSearch(event);
  else if (event.key === "?") helpOpen.value = true;
}

function leave(): void {
  helpOpen.value = false;
  if (document.activeElement instanceof HTMLInputElement) document.activeElement.blur();
}

function focusSearch(event: KeyboardEvent): void {
  event.preventDefault();
  document.getElementById("search")?.focus();
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}
