import { Agent, request } from "node:http";

export const API_KEY = "a-key-for-the-soak";

export interface Answer {
  status: number;
  /** What was said, if it was JSON. */
  said: unknown;
}

interface Question {
  method?: "GET" | "POST";
  path: string;
  contentType?: string;
  parts?: readonly Buffer[];
  /** Instead of the right one. */
  key?: string;
}

export interface Client extends Disposable {
  readonly port: number;
  ask(question: Question): Promise<Answer>;
  /** The same, of a body in JSON. */
  askJson(path: string, body: object): Promise<Answer>;
}

/** Longer than the service takes to give up. */
const LIMIT_MS = 90_000;

/** Over connections that are kept, as the clients of a real service do. */
export function client(port: number): Client {
  const agent = new Agent({ keepAlive: true });

  /** The server may close a kept connection in the very moment it is used again; then the question was not read, and is asked once more. */
  async function ask(question: Question): Promise<Answer> {
    try {
      return await askOnce(question);
    } catch (error) {
      if (!(error instanceof ClosedBefore)) throw error;
      return askOnce(question);
    }
  }

  function askOnce({ method = "POST", path, contentType, parts = [], key = API_KEY }: Question): Promise<Answer> {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const headers = {
      Authorization: `Bearer ${key}`,
      ...(method === "POST" && { "Content-Length": length, "Content-Type": contentType }),
    };
    return new Promise((resolve, reject) => {
      const sent = request({ agent, host: "127.0.0.1", port, method, path, headers, timeout: LIMIT_MS });
      sent.once("timeout", () => sent.destroy(new Error(`${path} was not answered within ${LIMIT_MS / 1000} seconds`)));
      sent.once("error", (error: NodeJS.ErrnoException) => {
        const closed = sent.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE");
        reject(closed ? new ClosedBefore(`${path}: ${error.message}`) : new Error(`${path}: ${error.message}`));
      });
      sent.once("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        response.once("error", reject);
        response.once("end", () => resolve({ status: response.statusCode ?? 0, said: parsed(text) }));
      });
      for (const part of parts) sent.write(part);
      sent.end();
    });
  }

  return {
    port,
    ask,
    askJson: (path, body) => ask({ path, contentType: "application/json", parts: [Buffer.from(JSON.stringify(body))] }),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

class ClosedBefore extends Error {}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
