import { setting, wholeNumber } from "./setting.ts";

/** What is kept for people who ask later. */
export const retentionSettings = {
  historyHours: setting({
    doc: "Hours that finished jobs can be looked at, with everything that happened to them; results can be polled for 24 hours, as the spec says.",
    parse: wholeNumber(1, 8760),
    default: "24",
  }),
  historyMost: setting({
    doc: "…and how many of them, at most: the oldest go. 0 keeps none.",
    parse: wholeNumber(0, 10_000_000),
    default: "100000",
  }),
  findingsDays: setting({
    doc: "Days that files which were infected or could not be scanned are remembered, however they came in: name, finding, size, SHA-256 and who sent them, never their content.",
    parse: wholeNumber(1, 3650),
    default: "90",
  }),
  findingsMost: setting({
    doc: "…and how many of them, at most: the oldest go. 0 keeps none.",
    parse: wholeNumber(0, 100_000_000),
    default: "1000000",
  }),
};
