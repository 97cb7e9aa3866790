export interface LazaretErrorFields {
  /** HTTP status of the answer; undefined when there was none. */
  status?: number | undefined;
  /** What went wrong, for programs: the server's `code`, or one of ours. */
  code: string;
  /** What to do about it. Also at the end of the message. */
  hint?: string | undefined;
  /** Names the request in the server's log. */
  requestId?: string | undefined;
  /** The server asked to wait this long before the next try. */
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

/** Everything that keeps a call from its result. A file that is infected or could not be scanned is no error. */
export class LazaretError extends Error {
  override readonly name: string = "LazaretError";
  readonly status: number | undefined;
  readonly code: string;
  readonly hint: string | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, fields: LazaretErrorFields) {
    const { status, code, hint, requestId, retryAfterSeconds, cause } = fields;
    super(hint ? `${message} (hint: ${hint})` : message, cause === undefined ? {} : { cause });
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 400: the request is wrong; `code` says how. */
export class BadRequestError extends LazaretError {
  override readonly name = "BadRequestError";
}

/** 401: the API key is missing or wrong. */
export class UnauthorizedError extends LazaretError {
  override readonly name = "UnauthorizedError";
}

/** 413: the file is larger than the synchronous API takes, or than a proxy in front of it does (`code` `http_413`). */
export class TooBigError extends LazaretError {
  override readonly name = "TooBigError";
}

/** 429 and 503, and a proxy's 502: the server cannot now, and may later. Thrown when the retries are used up. */
export class UnavailableError extends LazaretError {
  override readonly name = "UnavailableError";
}

/** 504 and 408: no verdict, or not the whole file, within the synchronous API's 60 seconds, or a proxy's time (`http_504`). */
export class ScanTimeoutError extends LazaretError {
  override readonly name = "ScanTimeoutError";
}

/** No answer: the connection failed, or the time for one try passed. */
export class UnreachableError extends LazaretError {
  override readonly name = "UnreachableError";
}

/** An answer that cannot be trusted to say what happened to the file. It never counts as clean. */
export class UnexpectedAnswerError extends LazaretError {
  override readonly name = "UnexpectedAnswerError";
}

/** The file could not be read to its end, so that nothing is known about it. */
export class UnreadableFileError extends LazaretError {
  override readonly name = "UnreadableFileError";
}

/** `waitForResult` waited as long as it was told to. */
export class ResultTimeoutError extends LazaretError {
  override readonly name = "ResultTimeoutError";
}
