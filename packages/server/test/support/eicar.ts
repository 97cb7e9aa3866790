/**
 * The harmless test file of the antivirus industry. Put together at run time, so that neither the repository nor a
 * contributor's own antivirus trips over it.
 */
export function eicar(): Buffer {
  const halves = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"];
  return Buffer.from(halves.join(""), "latin1");
}
