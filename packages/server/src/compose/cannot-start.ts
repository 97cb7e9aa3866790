/** An error that keeps the service from starting, most often an operator's mistake: the attempt, its target and the remedy. */
export class CannotStart extends Error {
  readonly hint: string;
  /** Whether it may end with nothing changed in the settings, so that another start is worth trying. */
  readonly passes: boolean;

  constructor(message: string, hint: string, { passes = false, ...options }: ErrorOptions & { passes?: boolean } = {}) {
    super(message, options);
    this.name = "CannotStart";
    this.hint = hint;
    this.passes = passes;
  }
}
