/** Breaks that no test notices, by name, and why that is so. */
export const knownSurvivors: Readonly<Record<string, string>> = {
  "jobs.ts: 1 → 2 in minLength: 1,": "a download_url of one character is no URL, and refused with the same code",
  "jobs.ts: 1 → 2 in minLength: 1, (3)": "a callback_url of one character is no URL, and refused with the same code",
  "jobs.ts: 1 → 2 in minLength: 1, (6)":
    "versions of folders have 32 characters, and others are refused with the same code; S3's are long",
};
