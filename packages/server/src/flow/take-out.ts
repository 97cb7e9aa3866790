/**
 * Takes one member out of a list: for what comes and goes all the time, like requests under way, as long as there are not many thousands.
 *
 * A Set or Map that lives for long is the wrong place for these. When its table is full of what was removed V8 makes another, and the table
 * before keeps pointing to it. Once one of them is old, it holds up all that come after, with everything that was in them, until V8 collects
 * everything: each request then costs kilobytes of old memory with all that it had (docs/decisions/0047-lists-of-what-comes-and-goes.md).
 */
export function takeOut<T>(list: T[], member: T): boolean {
  const at = list.indexOf(member);
  if (at === -1) return false;
  list.splice(at, 1);
  return true;
}
