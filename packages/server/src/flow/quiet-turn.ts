import { setTimeout as sleep } from "node:timers/promises";

/** Clients who were answered have come back within this time, and wait. If it took longer, the machine stood still, and they with it. */
const SILENT_MS = 20;
const STOOD_STILL_MS = 30;
/** Where always somebody comes, no such time is waited for any longer. */
const NEVER_SILENT_MS = 500;
/** A turn of the event loop in which next to nothing was done. */
const QUIET_TURN_MS = 0.3;
/** From then on any turn is good in which nothing came; and after this any at all. */
const ANY_LENGTH_MS = 1000;
const LONGEST_MS = 3000;

/**
 * Connections that the system has made, and we have not accepted, are reset when we stop listening, with the requests that are in them
 * already. So this is done when none has come for a while, and right after a turn of the event loop in which none came, and that took
 * next to no time. Whoever waits for it holds back what comes meanwhile: clients who wait for answers make no new connections.
 */
export async function quietTurn(arrived: () => number): Promise<void> {
  const asked = performance.now();
  for (let fellSilent = asked; fellSilent - asked < NEVER_SILENT_MS; fellSilent = performance.now()) {
    const before = arrived();
    await sleep(SILENT_MS);
    if (arrived() === before && performance.now() - fellSilent < STOOD_STILL_MS) break;
  }
  const began = performance.now();
  for (let turn = began, before = arrived(), waited = 0; waited < LONGEST_MS; before = arrived()) {
    await new Promise(setImmediate);
    const now = performance.now();
    waited = now - began;
    if (arrived() === before && (now - turn < QUIET_TURN_MS || waited > ANY_LENGTH_MS)) return;
    turn = now;
  }
}
