import { once } from "node:events";
import { connect } from "node:net";
import type { Dial, DialTarget, Lookup } from "../../src/net/guarded-connector.ts";

/**
 * An Internet of our own: names resolve as the test says, and whatever address is dialled, a server on loopback
 * answers. Every dial is written down, so that a test can see what would have been contacted.
 */
export interface FakeNetwork {
  lookup: Lookup;
  dial: Dial;
  readonly dialled: readonly DialTarget[];
}

export interface FakeNetworkOptions {
  /** The answers to successive lookups of a name; the last is repeated. An empty answer, or none: no such name. */
  names?: Readonly<Record<string, readonly (readonly string[])[]>>;
  /** The loopback port that stands for this port of the fake network; without it every dial is refused. */
  portFor?: (port: number) => number;
}

export function fakeNetwork({ names = {}, portFor }: FakeNetworkOptions): FakeNetwork {
  const dialled: DialTarget[] = [];
  const asked = new Map<string, number>();

  return {
    dialled,
    async lookup(host) {
      const name = host.replace(/\.$/, "");
      const answers = Object.hasOwn(names, name) ? (names[name] ?? []) : [];
      const turn = asked.get(name) ?? 0;
      asked.set(name, turn + 1);
      const answer = answers[Math.min(turn, answers.length - 1)] ?? [];
      if (answer.length === 0) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND" });
      return answer;
    },
    async dial(target, signal) {
      dialled.push(target);
      if (!portFor) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      const socket = connect(portFor(target.port), "127.0.0.1");
      await once(socket, "connect", { signal });
      return socket;
    },
  };
}
