export type { AsyncCalls, JobOptions, Submission } from "./async-calls.ts";
export type { CallbackResult } from "./callback/payload.ts";
export type { CallbackRequest, HeadersInput, RawCallback } from "./callback/raw-request.ts";
export type { RefusalReason } from "./callback/refused.ts";
export { CallbackRefusedError } from "./callback/refused.ts";
export type { CallbackVerifier, CallbackVerifierOptions, VerifiedCallback } from "./callback/verifier.ts";
export { createCallbackVerifier } from "./callback/verifier.ts";
export type { LazaretOptions } from "./connection.ts";
export type { LazaretErrorFields } from "./errors.ts";
export {
  BadRequestError,
  LazaretError,
  ResultTimeoutError,
  ScanTimeoutError,
  TooBigError,
  UnauthorizedError,
  UnavailableError,
  UnexpectedAnswerError,
  UnreachableError,
  UnreadableFileError,
} from "./errors.ts";
export type { ByteStream, FileContent, FileInput } from "./file/open-file.ts";
export type { FileOptions, Progress } from "./file/upload-body.ts";
export type { CallOptions } from "./http/send.ts";
export type { ScanTarget } from "./lazaret.ts";
export { Lazaret } from "./lazaret.ts";
export type { FastifyReceiverOptions } from "./receivers/fastify-receiver.ts";
export { fastifyReceiver } from "./receivers/fastify-receiver.ts";
export { fetchReceiver } from "./receivers/fetch-receiver.ts";
export type { LambdaAnswer, LambdaEvent } from "./receivers/lambda-receiver.ts";
export { lambdaReceiver } from "./receivers/lambda-receiver.ts";
export { nodeReceiver } from "./receivers/node-receiver.ts";
export type { CallbackHandler, ReceiverOptions } from "./receivers/receive.ts";
export type { CleanResult, InfectedResult, NotScannedResult, ScanResult } from "./result.ts";
export { isClean, isEncrypted, isOverLimits, isTooBig } from "./result.ts";
export type { DownloadTarget, FormOptions, ObjectTarget, SyncCalls } from "./sync-calls.ts";
export type { WaitOptions } from "./wait-for-result.ts";
export type { Status } from "./wire.ts";
