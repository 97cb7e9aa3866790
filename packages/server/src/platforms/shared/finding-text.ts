import type { FittedMessage } from "@lazaret/contract";

/** For people. Keys may hold any characters: none of them can start a new line or turn the text around. */
export function emailText(message: FittedMessage): string {
  const { bucket, key, version, status, action, finding } = message;
  const object = version === undefined ? `${bucket}/${key}` : `${bucket}/${key} ${version}`;
  const lines = [`${object} is ${status}, ${action} action executed`];
  if (finding !== undefined) lines.push(`finding: ${finding}`);
  return lines.map(plain).join("\n");
}

const SUBJECT_CHARACTERS = 100;

export function emailSubject({ bucket, key, status }: FittedMessage): string {
  const characters = [...plain(`${status}: ${bucket}/${key}`)];
  if (characters.length <= SUBJECT_CHARACTERS) return characters.join("");
  return `${characters.slice(0, SUBJECT_CHARACTERS - 1).join("")}…`;
}

/** Characters that are seen by what they do, and those that are none, are written as escapes. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
