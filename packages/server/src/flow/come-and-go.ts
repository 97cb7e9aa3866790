/**
 * Takes one out of a list of what comes and goes all the time, like those who wait in a line, if it is there. It takes longer the longer the list is, a microsecond
 * for a thousand.
 *
 * A Set or Map that lives for long is no place for these. When its table is full of what was removed V8 makes another one, and the table before
 * keeps pointing to it. Once one of them is old, it holds up all that come after it, with everything that was in them, until V8
 * collects everything: whatever has passed through becomes old, with all that it had (docs/decisions/0047-what-comes-and-goes.md).
 */
export function takeOut<T>(list: T[], member: T): void {
  const at = list.indexOf(member);
  if (at !== -1) list.splice(at, 1);
}
