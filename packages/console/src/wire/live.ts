import type { AdminEvent } from "@lazaret/contract/admin";
import { signal } from "@preact/signals";
import { readSession, urlOf } from "./api.ts";

/** What the server does, as it happens. Events are handed on a few times a second, so that a flood of them costs a few renderings. */
export const connected = signal(false);
export const paused = signal(false);

const HAND_ON_MS = 200;
/** When more come between two turns, reading the lists again is cheaper. */
const MOST_WAITING = 2000;
const RETRY_MS = [500, 1000, 2000, 5000];

type Listen = (events: AdminEvent[]) => void;
const listeners = new Set<Listen>();
let waiting: AdminEvent[] = [];
let timer: number | undefined;
let source: EventSource | undefined;
let retry: number | undefined;
let failures = 0;
let interrupted = false;

/** Returns what ends it. */
export function listen(listener: Listen): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function connect(): void {
  if (source) return;
  source = new EventSource(urlOf("events"));
  source.onopen = opened;
  source.onerror = broken;
  source.onmessage = (message: MessageEvent<string>) => take(JSON.parse(message.data) as AdminEvent);
}

export function disconnect(): void {
  source?.close();
  source = undefined;
  clearTimeout(retry);
  clearTimeout(timer);
  timer = undefined;
  waiting = [];
  failures = 0;
  interrupted = false;
  connected.value = false;
}

function opened(): void {
  connected.value = true;
  failures = 0;
  // Another process may have answered, which knows nothing of what was missed.
  if (interrupted) take({ type: "reset" });
  interrupted = false;
}

function broken(): void {
  connected.value = false;
  interrupted = true;
  if (source?.readyState !== EventSource.CLOSED) return;
  // The browser has given up, as it does when the answer is an error: perhaps the session is over.
  source = undefined;
  retry = window.setTimeout(again, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
  failures += 1;
}

async function again(): Promise<void> {
  await readSession().then(connectUnlessGone, connect);
}

function connectUnlessGone(): void {
  if (interrupted) connect();
}

function take(event: AdminEvent): void {
  if (event.type === "reset") waiting = [event];
  else if (waiting.length < MOST_WAITING) waiting.push(event);
  else waiting = [{ type: "reset" }];
  timer ??= window.setTimeout(handOn, HAND_ON_MS);
}

function handOn(): void {
  timer = undefined;
  const events = waiting;
  waiting = [];
  for (const listener of listeners) listener(events);
}
