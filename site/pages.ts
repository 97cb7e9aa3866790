/** The pages in the order of a person's way with Lazaret. A test sees to it that every page in docs/ has a place. */
export interface Chapter {
  title: string;
  /** What one comes to it for. */
  purpose: string;
  pages: readonly string[];
}

export const chapters: readonly Chapter[] = [
  {
    title: "Try",
    purpose: "scan the first file",
    pages: ["README.md", "docs/install.md", "docs/console.md", "examples/README.md"],
  },
  {
    title: "Integrate",
    purpose: "let your program ask before it trusts a file",
    pages: [
      "docs/scan-uploads.md",
      "docs/api.md",
      "docs/client.md",
      "docs/callbacks.md",
      "docs/cli.md",
      "docs/guard-a-bucket.md",
      "docs/events.md",
      "docs/versions.md",
      "docs/moving-to-lazaret.md",
    ],
  },
  {
    title: "Run",
    purpose: "keep it running, and see that it does",
    pages: [
      "docs/run-on-one-machine.md",
      "docs/run-in-containers.md",
      "docs/settings.md",
      "docs/engines.md",
      "docs/signatures.md",
      "docs/run-it-day-by-day.md",
      "docs/monitoring.md",
      "docs/logs.md",
      "docs/traces.md",
      "docs/runbook.md",
      "docs/upgrade.md",
    ],
  },
  {
    title: "Scale",
    purpose: "more files, more machines, more teams",
    pages: [
      "docs/sizing.md",
      "docs/performance.md",
      "docs/run-a-fleet-on-postgresql.md",
      "docs/postgresql-faults.md",
      "docs/run-on-kubernetes.md",
      "docs/run-on-aws.md",
      "docs/share-among-teams.md",
      "docs/tenants-file.md",
      "docs/limits.md",
    ],
  },
  {
    title: "Secure",
    purpose: "what clean means, and who may do what",
    pages: [
      "docs/unpacking.md",
      "docs/evasions.md",
      "docs/file-types.md",
      "docs/rules.md",
      "docs/postgresql-rights.md",
      "SECURITY.md",
    ],
  },
  {
    title: "Understand",
    purpose: "how it works inside",
    pages: ["docs/architecture.md", "docs/reliability.md", "docs/glossary.md", "CHANGELOG.md"],
  },
];

/** Of those who change Lazaret itself; the decisions come after them. */
export const maintainers: Chapter = {
  title: "For maintainers",
  purpose: "change Lazaret itself",
  pages: ["CONTRIBUTING.md", "docs/release.md", "docs/add-a-platform.md", "docs/add-an-engine.md", "docs/spec-map.md"],
};
