/** Where emails go out, and who they are from. */
export interface MailSettings {
  /** `smtp://` or `smtps://`, with user, password, host and port, and nodemailer's options as parameters. A secret. */
  smtpUrl: string;
  /** An address, or a name and an address. */
  from: string;
}

type Parsed = { value: string } | { problem: string };

/** Empty is allowed: there is no mail server. */
export function parseSmtpUrl(text: string): Parsed {
  const url = URL.parse(text);
  const right = url && /^smtps?:$/.test(url.protocol) && url.hostname !== "" && /^\/?$/.test(url.pathname);
  return text === "" || right ? { value: text } : { problem: "must be smtp://user:password@host:port, or smtps://" };
}

/** Empty is allowed: there is no sender. */
export function parseMailFrom(text: string): Parsed {
  if (text === "" || isMailAddress(text)) return { value: text };
  const [, name = "", address = ""] = /^([^<>]*)<([^<>]*)>$/.exec(text) ?? [];
  const right = isMailAddress(address) && !/[\p{C}\p{Zl}\p{Zp}",;:@()[\]\\]/u.test(name);
  return right ? { value: text } : { problem: "must be an address, as name@example.com or Name <name@example.com>" };
}

/** One address, with nothing that could end a header or an SMTP command, or be taken for a list or a name. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && /^[^\s\p{C}@<>()[\],:;"\\]+@[^\s\p{C}@<>()[\],:;"\\]+$/u.test(text);
}
