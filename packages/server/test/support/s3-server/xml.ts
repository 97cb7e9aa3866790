/** Just enough XML for what S3 and its SDK say to each other. */
type Content = string | number | boolean | readonly Element[];
type Element = readonly [name: string, content: Content];

export function xml(name: string, children: readonly Element[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element([name, children])}`;
}

/** The texts of all elements of that name, which hold nothing but text. */
export function textsOf(document: string, name: string): string[] {
  return [...document.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))].map(([, text = ""]) => unescaped(text));
}

function element([name, content]: Element): string {
  const inside = typeof content === "object" ? content.map(element).join("") : escaped(String(content));
  return `<${name}>${inside}</${name}>`;
}

function escaped(text: string): string {
  return text.replace(/[<>&"'\r\n\t]/g, (each) => `&#${each.charCodeAt(0)};`);
}

const named: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function unescaped(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return named[name] ?? whole;
    return String.fromCodePoint(Number.parseInt(hex ?? decimal ?? "", hex === undefined ? 10 : 16));
  });
}
