import { choice, path, setting, wholeNumber } from "./setting.ts";

/** How old clamd's signatures may be, and where those of a clamd of our own come from. */
export const signatureSettings = {
  signaturesMaxAge: setting({
    doc: "Days after which clamd's signatures count as old; an unknown age counts as old too.",
    parse: wholeNumber(1, 3650),
    default: "7",
  }),
  signaturesOld: setting({
    doc: "What old signatures do: `warn` in readiness, log, doctor and console, or `unready`, which also makes /readyz answer 503. Files are scanned all the same.",
    parse: choice(["warn", "unready"]),
    default: "warn",
  }),
  signaturesDir: setting({
    doc: "Folder where freshclam, or `lazaret signatures update`, puts signatures for clamd `own`; checked every few seconds.",
    parse: path,
    default: "/var/lib/clamav",
  }),
  signaturesSwitch: setting({
    doc: "How clamd `own` switches to new signatures: `beside` tries them in a second clamd, which takes the memory of both for a minute (about 1.3 GB each with the official ones); `alone` stops the old one first, and scans get 503 until the new one is ready.",
    parse: choice(["beside", "alone"]),
    default: "beside",
  }),
};
