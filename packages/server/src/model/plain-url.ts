/** A URL for people's eyes: what follows the path may be a secret, and so may a user name, password or fragment. */
export function withoutQuery(url: string): string {
  const parsed = URL.parse(url);
  return parsed ? `${parsed.protocol}//${parsed.host}${parsed.pathname}` : "(not a URL)";
}
