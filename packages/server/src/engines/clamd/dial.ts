import { connect, type Socket } from "node:net";
import { EngineUnavailable } from "../../model/faults.ts";
import { type ClamdAddress, connectOptions, describeAddress } from "./address.ts";

/** A connection to clamd. Throws `signal.reason`, or that it cannot be reached in time. */
export async function dial(address: ClamdAddress, timeoutMs: number, signal: AbortSignal): Promise<Socket> {
  const where = describeAddress(address);
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const socket = connect(connectOptions(address));
    const timer = setTimeout(() => fail(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
    const giveUp = (): void =>
      end(() => {
        socket.on("error", ignore).destroy();
        reject(signal.reason);
      });
    const end = (then: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
      socket.removeAllListeners();
      then();
    };
    const fail = (cause: Error): void =>
      end(() => {
        socket.on("error", ignore).destroy();
        reject(new EngineUnavailable(`cannot reach clamd at ${where}`, { cause }));
      });
    socket.once("error", fail);
    socket.once("connect", () => end(() => resolve(socket)));
    signal.addEventListener("abort", giveUp, { once: true });
  });
}

function ignore(): void {}
