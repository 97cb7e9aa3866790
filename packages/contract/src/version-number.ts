/** Three whole numbers: major, minor, patch. */
export type VersionNumber = `${number}.${number}.${number}`;

/** Undefined for whatever is not three whole numbers with dots between. */
export function parseVersion(text: string): VersionNumber | undefined {
  return isVersion(text) ? text : undefined;
}

/** Above 0 when `left` is the newer one. By numbers, not by letters: 2.10.0 is newer than 2.9.0. */
export function compareVersions(left: VersionNumber, right: VersionNumber): number {
  const others = right.split(".").map(Number);
  for (const [index, number] of left.split(".").map(Number).entries()) {
    const difference = number - (others[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** At most nine digits each, so that comparing them as numbers is exact. */
function isVersion(text: string): text is VersionNumber {
  return /^(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){2}$/.test(text);
}
