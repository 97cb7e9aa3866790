import { join } from "node:path";
import { type ClamdKeeper, keepClamd } from "../engines/clamd/keeper/keep-clamd.ts";
import { clamdBinary } from "../engines/clamd/own-clamd.ts";
import { LONGEST_SOCKET_PATH } from "../engines/run-folder.ts";
import type { Log } from "../log.ts";
import { clamdLines, concurrencyOf, restartSeconds, scansAtOnce } from "../pipeline/limits.ts";
import type { Settings } from "../settings.ts";
import { CannotStart } from "./cannot-start.ts";

/** The longest that a name of ours is below the data folder. */
const DEEPEST = "clamd/r-01234567/clamd.sock";

/** Keeps a clamd for this service, and for others with the same data folder. */
export function startKeeper(settings: Settings, log: Log): ClamdKeeper {
  const { dataDir, signaturesDir, signaturesSwitch } = settings;
  if (clamdBinary() === undefined) {
    throw new CannotStart(
      "LAZARET_CLAMD is own, and clamd is not installed on this machine",
      "Debian: apt-get install clamav-daemon clamav-freshclam, and keep its unit off: systemctl disable --now clamav-daemon",
    );
  }
  if (Buffer.byteLength(join(dataDir, DEEPEST)) > LONGEST_SOCKET_PATH) {
    throw new CannotStart(`the path of the data folder ${dataDir} is too long for a socket`, "use a shorter one");
  }
  const config = clamdLines(scansAtOnce(settings, concurrencyOf(settings.engine)));
  return keepClamd({ dataDir, signaturesDir, signaturesSwitch, config, log, pauseSeconds: restartSeconds });
}
