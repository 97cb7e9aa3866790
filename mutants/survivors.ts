/** Breaks that no test notices, by name, and why that is so. */
export const knownSurvivors: Readonly<Record<string, string>> = {
  "jobs.ts: 1 → 2 in minLength: 1,": "a download_url of one character is no URL, and refused with the same code",
  "jobs.ts: 1 → 2 in minLength: 1, (3)": "a callback_url of one character is no URL, and refused with the same code",
  "jobs.ts: 1 → 2 in minLength: 1, (6)":
    "versions of folders have 32 characters, and others are refused with the same code; S3's are long",
  "limits.ts: 15 → 16 in export const CALLBACK_TIMEOUT_SECONDS = 15;":
    "a number of ours that takes 15 real seconds to see; that a silent receiver is given up is shown with a shorter one",
};
