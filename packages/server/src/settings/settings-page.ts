import { settingsTable } from "../settings.ts";
import { envName, flagName, settingNames } from "./read-settings.ts";

/** docs/settings.md: the settings table, for people. */
export function settingsPage(): string {
  const rows = settingNames.map((name) => {
    const row = settingsTable[name];
    const flag = row.secret ? "none" : `\`${flagName(name)}\``;
    const fallback = row.default === "" ? "" : `\`${row.default}\``;
    return `| \`${envName(name)}\` | ${flag} | \`${name}\` | ${fallback} | ${row.doc} |`;
  });
  return `# Settings

Flags win over environment variables, those over \`lazaret.json\` in the working folder, and that over the default. Secrets
have no flag; they may also be read from the file that \`<VARIABLE>_FILE\` names. Lists are comma-separated, or arrays in
\`lazaret.json\`. An unknown name is an error. \`lazaret config\` shows every value and where it comes from.

| variable | flag | in lazaret.json | default | meaning |
|---|---|---|---|---|
${rows.join("\n")}

\`lazaret dev\` has other defaults for some of them: it listens on 127.0.0.1, accepts loopback addresses as targets, allows
callbacks over plain http and signs them. Without \`apiKeys\` it makes a key of its own, in \`dev-key\` in the data folder,
and without \`adminKeys\` one for the console, in \`dev-admin-key\`.

To exchange a key, put the new one beside the old into the file that \`LAZARET_API_KEYS_FILE\` names (or into \`lazaret.json\`), send SIGHUP,
move the clients over, take the old one out, and send SIGHUP again. A \`reloaded\` line in the log counts the keys; invalid keys
leave the old ones in use (\`not_reloaded\`). The console's keys are read again with them, and its sessions end. Other settings are read at the start only; SIGHUP never ends the service.

This page is made from the table in \`packages/server/src/settings.ts\`: \`node scripts/write-settings-page.mjs\`.
`;
}
