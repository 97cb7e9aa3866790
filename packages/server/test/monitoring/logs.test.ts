import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { root } from "../docs/place.ts";
import { temporaryFolder } from "../support/leftovers.ts";

const folder = join(root, "deploy/logs");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

/** Labels of Loki: fields with few values, that every line has. */
const FEW = ["event", "host", "level", "service"];

test("Vector's components lead from the journal to Loki, and labels have few values", () => {
  const { sources, transforms, sinks } = parse(read("vector.yaml"));
  assert.deepEqual(transforms.lazaret.inputs, Object.keys(sources));
  assert.deepEqual(sinks.loki.inputs, Object.keys(transforms));
  assert.deepEqual(Object.keys(sinks.loki.labels).toSorted(), FEW);
  for (const label of ["host", "level", "event"]) assert.equal(sinks.loki.labels[label], `{{ ${label} }}`);
});

test("Promtail keeps the lines of our units, and makes labels of the same fields", () => {
  const [{ journal, relabel_configs: relabel, pipeline_stages: stages }] = parse(read("promtail.yaml")).scrape_configs;
  const labels = stages.flatMap(({ labels = {} }: { labels?: object }) => Object.keys(labels));
  assert.deepEqual([...labels, ...Object.keys(journal.labels), relabel[1].target_label].toSorted(), FEW);
  const ours = new RegExp(`^(?:${relabel[0].regex})$`);
  for (const unit of ["lazaret.service", "lazaret@8042.service", "lazaret-worker.service"]) assert.match(unit, ours);
  assert.doesNotMatch("lazaret-freshclam.service", ours);
});

test("logrotate reads its file, and leaves the one that is written to in its place", () => {
  using place = temporaryFolder();
  const state = join(place.path, "state");
  const { status, stderr } = spawnSync("logrotate", ["--debug", "--state", state, join(folder, "lazaret.logrotate")], {
    encoding: "utf8",
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
  });
  assert.equal(status, 0, stderr);
  assert.doesNotMatch(stderr, /error:/);
  assert.match(read("lazaret.logrotate"), /^\s+copytruncate$/m);
});
