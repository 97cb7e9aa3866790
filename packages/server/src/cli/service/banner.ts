import type { EngineCheck } from "../../scan/engine.ts";
import type { Settings } from "../../settings.ts";
import { version } from "../../version.ts";

export interface BannerFacts {
  settings: Settings;
  port: number;
  /** The key that `lazaret dev` made itself. A configured one is a secret of its owner, and is not shown. */
  ownKey: string | undefined;
  checks: readonly EngineCheck[];
}

/** What `lazaret dev` prints when it is ready: where it is, what it knows, and lines to paste. */
export function banner({ settings, port, ownKey, checks }: BannerFacts): string {
  const scheme = settings.tlsCert === "" ? "http" : "https";
  const url = `${scheme}://${settings.host.includes(":") ? `[${settings.host}]` : settings.host}:${port}`;
  // The EICAR test file in two halves, so that no antivirus trips over this file or over a terminal's scroll-back.
  const eicar = String.raw`'X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR' '-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'`;
  return `
Lazaret ${version} is ready at ${url}
engine ${settings.engine}
${checks.map((check) => `  ${check.ok ? "ok  " : "FAIL"} ${check.name}: ${check.detail}`).join("\n")}

${ownKey ? "Paste this" : "Paste this with one of the keys in LAZARET_API_KEYS"}, then one of the lines below it:

  export LAZARET_URL=${url} LAZARET_API_KEY=${ownKey ?? "YOUR_KEY"}

Scan a file:

  curl -H "Authorization: Bearer $LAZARET_API_KEY" -F file=@README.md $LAZARET_URL/api/v1/scan/sync/form

Scan the harmless EICAR test file, which every scanner calls infected:

  printf '%s%s' ${eicar} | curl -H "Authorization: Bearer $LAZARET_API_KEY" -H "Content-Type: application/octet-stream" --data-binary @- $LAZARET_URL/api/v1/scan/sync/binary

All endpoints: ${url}/docs    Stop: Ctrl-C

`;
}
