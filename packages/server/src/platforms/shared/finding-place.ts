/** Where a page of findings ended: they are in the order of time, those of the same millisecond in that of their ids. */
export interface FindingPlace {
  at: number;
  id: string;
}

export function findingPlace({ at, id }: FindingPlace): string {
  return `${at}.${id}`;
}

/** Undefined when it is none of ours. */
export function findingPlaceIn(text: string): FindingPlace | undefined {
  const [, at, id] = /^(\d{1,15})\.([\w-]{1,64})$/.exec(text) ?? [];
  return at === undefined || id === undefined ? undefined : { at: Number(at), id };
}
