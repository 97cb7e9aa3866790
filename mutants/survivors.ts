/** Breaks that no test notices, by name, and why that is so. */
export const knownSurvivors: Readonly<Record<string, string>> = {};
