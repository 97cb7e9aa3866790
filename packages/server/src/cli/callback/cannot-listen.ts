import { CannotStart } from "../../compose/cannot-start.ts";

export function cannotListenOn(where: string, error: NodeJS.ErrnoException): Error {
  const why = error.code === "EADDRINUSE" ? "the port is taken" : String(error.code);
  return new CannotStart(`cannot listen on ${where}: ${why}`, "choose another with --port; 0 takes any free one", {
    cause: error,
  });
}
