/** Removes an item from a list, if it is there. */
export function removeItem<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at !== -1) list.splice(at, 1);
}
