export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Text with `code` in it. */
export function prose(text: string): string {
  return escaped(text).replace(/`([^`]*)`/g, "<code>$1</code>");
}

export function anchor(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** Where the service is, for who reads the page without its script. */
export const EXAMPLE_ADDRESS = "http://127.0.0.1:8040";

/** `$LAZARET_URL` as something that the script can replace with the address that the page is read at. */
export function addressed(text: string, without = "$LAZARET_URL"): string {
  return escaped(text).replaceAll("$LAZARET_URL", () => `<span class="address">${escaped(without)}</span>`);
}

export function table(caption: string, heads: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const head = heads.map((each) => `<th scope="col">${each}</th>`).join("");
  const body = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("");
  return `<table><caption>${caption}</caption><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}
