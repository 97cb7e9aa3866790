import { type Check, fail, ok } from "./check.ts";

/** Whether LAZARET_TENANTS_FILE could be taken up as it is, each mistake by itself. */
export async function tenantsChecks(path: string): Promise<Check[]> {
  if (path === "") return [];
  const { readTenantsFile } = await import("../../access/tenants-file.ts");
  const read = readTenantsFile(path);
  if (read.kind === "refused") return read.problems.map((problem) => fail("tenants", problem, `mend ${path}`));
  const { tenants, keys } = read.access;
  return [ok("tenants", `${tenants.length} with ${keys.length} keys in ${path}`)];
}
