/**
 * Spreadsheets run a cell that begins so as a formula, also with the wide signs of Asian keyboards. Where lists are separated by another
 * sign than a comma, a cell begins behind that sign and behind a line break too, as quotes inside a cell mean nothing there.
 */
const FORMULA = /(?<=^|[;|\t\r\n])(?=[=+\-@＝＋－＠])|^(?=[\t\r\n])/g;

/** A line of CSV (RFC 4180). Texts of strangers cannot become formulas. */
export function csvLine(cells: readonly (string | number | boolean | undefined)[]): string {
  return `${cells.map(cell).join(",")}\r\n`;
}

function cell(value: string | number | boolean | undefined): string {
  if (value === undefined) return "";
  if (typeof value !== "string") return String(value);
  const safe = value.replace(FORMULA, "'");
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
