import { CannotStart } from "../../compose/cannot-start.ts";
import { type FoundKeys, findKeys } from "../../platforms/embedded/signing-keys.ts";
import type { Settings } from "../../settings.ts";
import { loadSettings } from "../flags/load-settings.ts";
import { mayUse } from "./local-store.ts";

/** The settings of an installation whose keys are files in the data folder. */
export function keySettings(flags: { dataDir?: string }): Settings {
  const { settings } = loadSettings({ dataDir: flags.dataDir }, {});
  if (settings.platform === "embedded") return settings;
  throw new CannotStart(
    "the signing key of this installation is no file",
    "with platform aws it is the secret LAZARET_AWS_SIGNING_SECRET names in Secrets Manager; exchange it there",
  );
}

/** The keys of the local data folder. */
export async function localKeys(flags: { dataDir?: string }): Promise<FoundKeys> {
  const { dataDir } = keySettings(flags);
  mayUse(dataDir, ["callback-signing-key.pem"]);
  const found = await findKeys(dataDir);
  if (found) return found;
  throw new CannotStart(
    `there is no signing key in ${dataDir}`,
    "lazaret dev makes one when it starts, lazaret keys rotate makes one now; --data-dir names another folder",
  );
}
