/**
 * A pattern with a slash is for the path below the folder that is scanned, one without is for a name at any depth. `*` is
 * anything but a slash, `**` anything at all, `?` one character, `[a-z]` one of several, `{pdf,docx}` one of several words.
 * Names that begin with a dot are names like others.
 */
export function glob(pattern: string): (path: string) => boolean {
  const anyDepth = pattern.replace(/\/$/, "").includes("/") ? "" : "(?:.*/)?";
  const expression = new RegExp(`^${anyDepth}${source(pattern.replace(/^\.?\/|\/$/g, ""))}$`, "su");
  return (path) => expression.test(path);
}

const piece = /\*\*\/|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|[\s\S]/gu;

function source(pattern: string): string {
  return pattern.replace(piece, (match) => {
    if (match === "**/") return "(?:.*/)?";
    if (match === "**") return ".*";
    if (match === "*") return "[^/]*";
    if (match === "?") return "[^/]";
    if (match.length > 1 && match.startsWith("[")) {
      const inner = match
        .slice(1, -1)
        .replace(/^!/, "^")
        .replace(/[\\[\]&]/g, "\\$&");
      return `(?!/)[${inner}]`;
    }
    if (match.length > 1 && match.startsWith("{")) return `(?:${match.slice(1, -1).split(",").map(source).join("|")})`;
    return match.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  });
}
