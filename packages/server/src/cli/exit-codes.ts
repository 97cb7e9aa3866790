import { say } from "./terminal/output.ts";

/** What the exit code of every command says. Also 128 and a signal's number when one ended it. */
export const exitCodes = {
  /** Everything is clean; for commands that scan nothing: done. */
  clean: 0,
  infected: 1,
  /** Of `lazaret health`: the number that those who watch containers expect. */
  unhealthy: 1,
  /** Something could not be scanned, or there is no result. */
  notScanned: 2,
  unreachable: 3,
  /** The server, or a receiver, said no. */
  refused: 4,
  usage: 64,
  /** Something that may end by itself: a database that is away, a full disk, a port that is taken. Starting again may help. */
  passing: 75,
  settings: 78,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A command that cannot do what it was asked to: why, what to do about it, and its exit code. */
export class CommandFailed extends Error {
  readonly exitCode: ExitCode;
  readonly hint: string;

  constructor(exitCode: ExitCode, message: string, options: ErrorOptions & { hint: string }) {
    super(message, options);
    this.name = "CommandFailed";
    this.exitCode = exitCode;
    this.hint = options.hint;
  }
}

/** For what commander cannot see in the arguments. */
export function wrongUsage(message: string, hint: string): CommandFailed {
  return new CommandFailed(exitCodes.usage, message, { hint });
}

/**
 * For `catch`: says what an operator can mend, which comes with a hint, and answers the exit code. The rest is a bug, and is thrown with
 * its stack.
 */
export function reported(error: unknown): number {
  if (!(error instanceof Error && "hint" in error)) throw error;
  say(`lazaret: ${error.message}\nhint: ${error.hint}\n`);
  if (error instanceof CommandFailed) return error.exitCode;
  return "passes" in error && error.passes === true ? exitCodes.passing : exitCodes.settings;
}

/** The message of the error's cause, where there is one: fetch puts the reason there. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message;
}
