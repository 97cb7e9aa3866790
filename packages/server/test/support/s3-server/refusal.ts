/** An answer of S3 that is an error, as its XML tells it. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, headers: Readonly<Record<string, string>> = {}) {
    super(code);
    this.name = "Refusal";
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}
