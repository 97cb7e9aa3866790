/** An operator's mistake that keeps the service from starting: what, on what, and what to do. */
export class CannotStart extends Error {
  readonly hint: string;

  constructor(message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CannotStart";
    this.hint = hint;
  }
}
