import type { FindingsAttributes, FindingsMessage } from "@lazaret/contract";

/** What subscribers can filter by. Surrogates become `#`, one for each code unit; the body keeps the raw text. */
export function attributesOf(message: FindingsMessage): FindingsAttributes {
  const { custom_data: _, realfiletype: __, size, ...texts } = message;
  const entries = Object.entries(texts).map(([name, value]) => [name, value.replace(/[\ud800-\udfff]/g, "#")]);
  return { ...Object.fromEntries(entries), size };
}
