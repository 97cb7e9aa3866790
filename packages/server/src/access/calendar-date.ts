const WRITTEN = /^(\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;

/**
 * A date, or a date and a time, as ISO 8601 writes them: milliseconds since 1970. Undefined for all else, also for a day that no calendar
 * has: JavaScript takes the 31st of February for the 3rd of March.
 */
export function calendarDate(text: string): number | undefined {
  const [, day] = WRITTEN.exec(text) ?? [];
  const [at, midnight] = [Date.parse(text), Date.parse(day ?? "")];
  if (day === undefined || Number.isNaN(at) || Number.isNaN(midnight)) return undefined;
  return new Date(midnight).toISOString().startsWith(day) ? at : undefined;
}
