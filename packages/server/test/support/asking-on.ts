import { Agent, request } from "node:http";

/** Clients that ask again as soon as they are answered, until nobody listens any more. */
export interface AskingOn {
  answered(): number;
  /** What became of requests that were sent and not answered; when all clients have been refused a connection. */
  unanswered(): Promise<string[]>;
}

export function askingOn(url: string, given: { clients: number; keepAlive: boolean }): AskingOn {
  const agent = new Agent({ keepAlive: given.keepAlive });
  const lost: string[] = [];
  let answered = 0;

  function ask(): Promise<"answered" | "refused" | "lost"> {
    return new Promise((resolve) => {
      const asked = request(`${url}/api/v1/test`, { agent }, (response) => {
        response.resume().once("end", () => resolve("answered"));
      });
      asked.once("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "ECONNREFUSED") return resolve("refused");
        lost.push(`${asked.reusedSocket ? "kept" : "new"} connection: ${error.message}`);
        resolve("lost");
      });
      asked.end();
    });
  }

  async function client(): Promise<void> {
    for (;;) {
      const end = await ask();
      if (end === "answered") answered += 1;
      else if (end === "refused") return;
    }
  }

  const all = Promise.all(Array.from({ length: given.clients }, client));
  return {
    answered: () => answered,
    async unanswered() {
      await all;
      agent.destroy();
      return lost;
    },
  };
}
