// Compiled as CommonJS, against the declarations that belong to it.
import { isClean, Lazaret, LazaretError } from "@lazaret/client";

export async function scan(path: string): Promise<"clean" | string> {
  const result = await new Lazaret().scan({ file: path }).catch((error: unknown) => {
    throw error instanceof LazaretError ? new Error(error.code) : error;
  });
  return isClean(result) ? result.status : (result.finding ?? "?");
}
