import type { FittedAttributes } from "@lazaret/contract";
import { CALLBACK_TIMEOUT_SECONDS, callbackHeaderNames as names } from "@lazaret/contract";
import { timeLimit } from "../../../flow/time-limit.ts";
import type { ConnectorFactory } from "../../../net/exchange.ts";
import { failureCode } from "../../../net/failures.ts";
import { keptConnections } from "../../../net/kept-connections.ts";
import type { Posted, Sender } from "./sender.ts";

/** Answers the value of X-Signature. */
export type SignMessage = (parts: { timestamp: string; url: string; body: Uint8Array }) => Promise<string>;

export interface HttpsSenderOptions {
  /** As the operator wrote it, which is what is signed. */
  endpoint: string;
  /** X-Topic; events have none. */
  topicName?: string;
  /** Sent to receivers as `lazaret/<version>`. */
  version: string;
  connector: ConnectorFactory;
  /** Messages are signed when it is given. */
  sign?: SignMessage;
  /** Milliseconds since 1970. */
  now(): number;
  timeoutMs?: number;
}

const AT_ONCE = 8;

/** One POST for a message, its body being the message. Redirects are not followed, proxies are not known. */
export function httpsSender(options: HttpsSenderOptions): Sender {
  const { endpoint, topicName, version, sign, now, timeoutMs = CALLBACK_TIMEOUT_SECONDS * 1000 } = options;
  const url = new URL(endpoint);
  const connections = keptConnections(options.connector);
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  const authorization = credentials === ":" ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`;

  async function headersFor(
    { message: { id }, attributes }: Posted,
    body: Uint8Array,
    contentType: string,
  ): Promise<string[]> {
    const timestamp = String(now());
    const headers: Readonly<Record<string, string>> = {
      Accept: "*/*",
      "User-Agent": `lazaret/${version}`,
      ...(authorization !== undefined && { Authorization: authorization }),
      "Content-Type": contentType,
      "Content-Length": String(body.length),
      "X-Message-Id": id,
      ...(topicName !== undefined && { "X-Topic": topicName }),
      ...(attributes && attributeHeaders(attributes)),
      ...(sign && {
        [names.timestamp]: timestamp,
        [names.signature]: await sign({ timestamp, url: endpoint, body }),
      }),
    };
    return Object.entries(headers).flat();
  }

  return {
    atOnce: AT_ONCE,
    async send(posted, signal) {
      const { message, failures } = posted;
      const content: unknown = JSON.parse(message.body);
      // Words of an old installation are sent as words.
      const [body, contentType] =
        typeof content === "string"
          ? [Buffer.from(content), "text/plain; charset=utf-8"]
          : [Buffer.from(message.body), "application/json"];
      const headers = await headersFor(posted, body, contentType);
      using limit = timeLimit(timeoutMs, signal);
      try {
        const request = { headers, body, mayReuse: failures === 0 };
        const { received, statusCode } = await connections.post(url, request, limit.signal);
        return received ? { kind: "sent", statusCode } : { kind: "failed", code: `HTTP_${statusCode}`, statusCode };
      } catch (error) {
        return { kind: "failed", code: failureCode(error) ?? "EUNKNOWN" };
      }
    },
    close: connections.close,
  };
}

/**
 * Attributes as headers: `trace_id` is X-Attribute-Trace-Id, because proxies drop names with underscores. Values are
 * percent-encoded wherever they are not visible ASCII: header values can hold nothing else safely.
 */
function attributeHeaders(attributes: FittedAttributes): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      `X-Attribute-${name.replace(/(^|_)(\w)/g, (_, gap, letter) => `${gap && "-"}${letter.toUpperCase()}`)}`,
      String(value).replace(/[^\x21-\x24\x26-\x7e]/g, encodeURIComponent),
    ]),
  );
}
