import { chmod, rm } from "node:fs/promises";
import type { Agent as HttpAgent, IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { timeLimit } from "../flow/time-limit.ts";
import type { Log } from "../log.ts";
import { Agent, request as httpRequest } from "../net/node-http.ts";
import { answerRelayed } from "../receive/console/relay.ts";
import { type RunningServer, startHttpServer } from "../receive/http/http-server.ts";
import type { Answer, ApiRequest } from "../receive/request-answer.ts";
import type { OfOthers, Seen } from "./handover.ts";

/** Where the first of several processes hears what the others see; no path that they relay. */
const SEEN_PATH = "/seen";
/** Who does not take it within this time does not get it. */
const SEND_MS = 1000;

/** The lines are written by the processes that were asked. */
const noLog: Log = Object.assign(() => {}, { error: () => {}, debug: () => {} });

export interface ForOthersOptions {
  /** Of a socket, in a folder that is this service's alone. */
  path: string;
  /** The calls of the console. */
  handle(request: ApiRequest): Promise<Answer>;
  take: OfOthers["take"];
}

/** The first of several processes answers for all. */
export async function listenForOthers({ path, handle, take }: ForOthersOptions): Promise<RunningServer> {
  const relayed = answerRelayed(handle);
  // One that was killed leaves its socket behind.
  await rm(path, { force: true });
  const server = await startHttpServer({
    host: "",
    port: 0,
    path,
    handle: async (request) => (request.path === SEEN_PATH ? answerSeen(request, take) : relayed(request)),
    log: noLog,
  });
  await chmod(path, 0o600);
  return server;
}

async function answerSeen(request: ApiRequest, take: OfOthers["take"]): Promise<Answer> {
  try {
    return { status: 200, json: take((await json(request.body)) as Seen) };
  } catch {
    // Its process was killed in the middle of it.
    return { status: 400 };
  }
}

/** Hands what was seen to the first process. Rejects when it is not there, or slow. */
export function sendSeen(socketPath: string): (seen: Seen) => ReturnType<typeof sent> {
  // A connection for each would be most of what this costs. While nothing is sent it keeps no process alive.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return (seen) => sent({ socketPath, agent }, seen);
}

async function sent(first: { socketPath: string; agent: HttpAgent }, seen: Seen): Promise<{ heard: boolean }> {
  using limit = timeLimit(SEND_MS);
  const { signal } = limit;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest({ ...first, path: SEEN_PATH, method: "POST", signal }, resolve)
      .on("error", reject)
      .end(JSON.stringify(seen));
  });
  return (await json(response)) as { heard: boolean };
}
