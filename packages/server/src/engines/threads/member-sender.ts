import type { Blob } from "../../unpack/blob.ts";
import type { Budget } from "../../unpack/budget.ts";
import {
  MEMBERS_TOGETHER,
  MEMBERS_TOGETHER_BYTES,
  MEMBERS_UNDER_WAY_BYTES,
  SMALL_MEMBER_BYTES,
} from "./scan-limits.ts";
import { CONTROL, type ShownMembers } from "./scan-protocol.ts";

/** Sends members to the main thread, which shows them to clamd, no faster than clamd takes them. */
export interface MemberSender {
  /** Copies what is in memory; waits until it has been dealt with where it is in a file, whose room is used again. */
  add(content: Blob, path: string, decrypted?: boolean): void;
  /** Sends what has been added and not been sent yet. */
  finish(): void;
}

export interface SenderOptions {
  control: Int32Array;
  budget: Budget;
  send(members: ShownMembers, transfer: readonly ArrayBuffer[]): void;
}

/** How often a thread that waits looks whether anybody still wants its answer. */
const LOOK_UP_MS = 50;

export function memberSender({ control, budget, send }: SenderOptions): MemberSender {
  let waiting: { bytes: Buffer; path: string }[] = [];
  let waitingBytes = 0;

  /** The thread sleeps: nothing else is to be done meanwhile, and the unpacker cannot wait in any other way. */
  function waitUntil(atMost: number): void {
    for (;;) {
      const underWay = Atomics.load(control, CONTROL.bytesUnderWay);
      if (underWay <= atMost) return;
      Atomics.wait(control, CONTROL.bytesUnderWay, underWay, LOOK_UP_MS);
      budget.check();
    }
  }

  function post(members: ShownMembers, size: number, transfer: readonly ArrayBuffer[]): void {
    // Never nothing: who waits for all of it must see that this is under way.
    Atomics.add(control, CONTROL.bytesUnderWay, Math.max(1, size));
    send(members, transfer);
  }

  function sendWaiting(): void {
    if (waiting.length === 0) return;
    const bytes = new Uint8Array(Buffer.concat(waiting.map((one) => one.bytes)));
    const [lengths, paths] = [waiting.map((one) => one.bytes.length), waiting.map(({ path }) => path)];
    waiting = [];
    waitingBytes = 0;
    post({ kind: "memory", bytes, lengths, paths }, bytes.length, [bytes.buffer]);
    waitUntil(MEMBERS_UNDER_WAY_BYTES);
  }

  return {
    add(content, path, decrypted = false) {
      const { size, file } = content;
      if (file) {
        post(
          { kind: "file", descriptor: file.descriptor, start: file.start, size, path, ...(decrypted && { decrypted }) },
          size,
          [],
        );
        waitUntil(0);
        return;
      }
      if (size > SMALL_MEMBER_BYTES || decrypted) {
        const bytes = Uint8Array.from(content.bytes(0, size));
        const how = decrypted && { decrypted };
        post({ kind: "memory", bytes, lengths: [size], paths: [path], ...how }, size, [bytes.buffer]);
        waitUntil(MEMBERS_UNDER_WAY_BYTES);
        return;
      }
      waiting.push({ bytes: Buffer.from(content.bytes(0, size)), path });
      waitingBytes += size;
      if (waiting.length >= MEMBERS_TOGETHER || waitingBytes >= MEMBERS_TOGETHER_BYTES) sendWaiting();
    },
    finish: sendWaiting,
  };
}
