import { bytesOfBody, type RawCallback } from "../callback/raw-request.ts";
import { CallbackRefusedError } from "../callback/refused.ts";
import { CALLBACK_MAX_BYTES, type CallbackVerifier } from "../callback/verifier.ts";
import { type CallbackHandler, type ReceiverOptions, receive, TEXT } from "./receive.ts";

/** What function URLs, API Gateway (REST and HTTP APIs) and load balancers have in common. */
export interface LambdaEvent {
  body?: string | null | undefined;
  isBase64Encoded?: boolean | undefined;
  headers?: Readonly<Record<string, string | undefined>> | null | undefined;
  multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null | undefined;
  /** Function URLs and HTTP APIs. */
  rawPath?: string | undefined;
  /** REST APIs and load balancers. */
  path?: string | undefined;
}

export interface LambdaAnswer {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
}

/** For AWS Lambda behind a function URL, API Gateway or a load balancer. */
export function lambdaReceiver(
  verifier: CallbackVerifier,
  handler: CallbackHandler,
  options: ReceiverOptions = {},
): (event: LambdaEvent) => Promise<LambdaAnswer> {
  return async (event) => {
    const verification = async () => verifier.verifyRaw(rawCallback(event, options.maxBytes ?? CALLBACK_MAX_BYTES));
    const { status, text } = await receive(verification, handler, options);
    return { statusCode: status, headers: text === "" ? {} : { "Content-Type": TEXT }, body: text };
  };
}

function rawCallback(event: LambdaEvent, maxBytes: number): RawCallback {
  const text = event.body ?? "";
  const body = event.isBase64Encoded
    ? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
    : bytesOfBody(text);
  if (body.length > maxBytes) throw new CallbackRefusedError("too_big", `the body has more than ${maxBytes} bytes`);
  return { body, headers: event.headers ?? event.multiValueHeaders ?? {}, url: event.rawPath ?? event.path };
}
