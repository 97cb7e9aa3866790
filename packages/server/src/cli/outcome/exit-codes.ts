/** What the exit code of every command says. Also 128 and a signal's number when one ended it. */
export const exitCodes = {
  /** Everything is clean; for commands that scan nothing: done. */
  clean: 0,
  infected: 1,
  /** Something could not be scanned, or there is no result. */
  notScanned: 2,
  unreachable: 3,
  /** The server, or a receiver, said no. */
  refused: 4,
  usage: 64,
  settings: 78,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
