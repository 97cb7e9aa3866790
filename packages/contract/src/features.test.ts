import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type Feature,
  featuresOf,
  featureTable,
  type Installation,
  latestAddOns,
  latestEngines,
  shortcoming,
  supports,
} from "./features.ts";
import type { VersionNumber } from "./version-number.ts";

/** What the spec says, row by row and clause by clause, apart from the table that is tested. */
interface SpecRow {
  section: "Versioning" | "Findings topic" | "Event bus" | "Engine P only";
  row: string;
  features: Feature[];
  asyncAddOn?: VersionNumber;
  syncAddOn?: VersionNumber;
  /** Not given: any version of that variant. */
  Q?: VersionNumber | "never";
  P?: VersionNumber;
}

const spec: SpecRow[] = [
  {
    section: "Versioning",
    row: "download_headers and callback_headers on the download endpoint",
    features: ["async.download.download_headers", "async.download.callback_headers"],
    asyncAddOn: "2.2.1",
    Q: "2.17.0",
    P: "2.8.0",
  },
  {
    section: "Versioning",
    row: "callback_headers on the objstore endpoint",
    features: ["async.objstore.callback_headers"],
    asyncAddOn: "2.7.0",
    Q: "2.17.0",
    P: "2.8.0",
  },
  // Rows without an engine requirement have that of the asynchronous API as a whole, the last row of the spec's table.
  {
    section: "Versioning",
    row: "polling",
    features: ["async.polling"],
    asyncAddOn: "2.7.0",
    Q: "2.14.0",
    P: "2.4.0",
  },
  {
    section: "Versioning",
    row: "realfiletype in the async result",
    features: ["async.result.realfiletype"],
    asyncAddOn: "2.8.0",
    Q: "never",
    P: "2.4.0",
  },
  {
    section: "Versioning",
    row: "realfiletype in callbacks",
    features: ["callback.realfiletype"],
    Q: "never",
    P: "2.18.0",
  },
  {
    section: "Versioning",
    row: "realfiletype in sync results",
    features: ["sync.result.realfiletype"],
    syncAddOn: "2.11.0",
    Q: "never",
  },
  {
    section: "Versioning",
    row: "callback signing",
    features: ["callback.signature"],
    asyncAddOn: "2.11.0",
    Q: "2.14.0",
    P: "2.4.0",
  },
  { section: "Versioning", row: "GET /api/v1/test", features: ["test"], asyncAddOn: "2.4.0" },
  {
    section: "Versioning",
    row: "callbacks and the asynchronous API as a whole",
    features: ["async", "async.callbacks"],
    Q: "2.14.0",
    P: "2.4.0",
  },
  { section: "Findings topic", row: "JSON bodies", features: ["topic.json"], Q: "2.1.0", P: "2.0.0" },
  { section: "Findings topic", row: "size", features: ["topic.size"], Q: "2.13.0", P: "2.2.0" },
  { section: "Findings topic", row: "version", features: ["topic.version"], Q: "2.3.0", P: "2.0.0" },
  {
    section: "Findings topic",
    row: "trace_id and custom_data",
    features: ["topic.trace_id", "topic.custom_data"],
    Q: "2.9.0",
    P: "2.0.0",
  },
  { section: "Findings topic", row: "realfiletype", features: ["topic.realfiletype"], Q: "never", P: "2.18.0" },
  {
    section: "Findings topic",
    row: "finding as an attribute",
    features: ["topic.attribute.finding"],
    Q: "1.7.0",
    P: "2.0.0",
  },
  {
    section: "Event bus",
    row: "Download Scan Result",
    features: ["event.download_scan_result"],
    Q: "3.4.1",
    P: "3.4.1",
  },
  {
    section: "Engine P only",
    row: "realfiletype of the Download Scan Result detail",
    features: ["event.download_scan_result.realfiletype"],
    Q: "never",
    P: "3.4.1",
  },
];

const names = Object.keys(featureTable) as Feature[];
const newest = (variant: "P" | "Q"): Installation => ({
  ...latestAddOns,
  variant,
  engineVersion: latestEngines[variant],
});

/** The versions next to a bound, on either side, whichever of the three numbers tells them apart. */
function around(bound: VersionNumber): { below: VersionNumber[]; above: VersionNumber[] } {
  const [major = 0, minor = 0, patch = 0] = bound.split(".").map(Number);
  return {
    below: [
      ...(patch > 0 ? [`${major}.${minor}.${patch - 1}` as const] : []),
      ...(minor > 0 ? [`${major}.${minor - 1}.999999` as const] : []),
      ...(major > 0 ? [`${major - 1}.999999.999999` as const] : []),
      "0.0.0",
    ],
    above: [`${major}.${minor}.${patch + 1}`, `${major}.${minor + 1}.0`, `${major + 1}.0.0`, "999.0.0"],
  };
}

describe("features by version", () => {
  for (const { section, row, features, ...bounds } of spec) {
    for (const [feature, variant] of features.flatMap((each) => [[each, "P"] as const, [each, "Q"] as const])) {
      const engine = bounds[variant];
      if (engine === "never") {
        it(`${section}, ${row}: ${feature} is in no version of engine ${variant}`, () => {
          for (const engineVersion of ["0.0.0", latestEngines[variant], "999.0.0"] as const) {
            assert.equal(supports({ ...newest(variant), engineVersion }, feature), false, engineVersion);
          }
        });
        continue;
      }
      const parts = { asyncAddOn: bounds.asyncAddOn, syncAddOn: bounds.syncAddOn, engineVersion: engine };
      for (const [part, bound] of Object.entries(parts)) {
        if (bound === undefined) {
          it(`${section}, ${row}: ${feature} with engine ${variant} needs no ${part}`, () => {
            assert.equal(supports({ ...newest(variant), [part]: "0.0.0" }, feature), true);
          });
          continue;
        }
        it(`${section}, ${row}: ${feature} with engine ${variant} needs ${part} ${bound}`, () => {
          const has = (version: VersionNumber) => supports({ ...newest(variant), [part]: version }, feature);
          const { below, above } = around(bound);
          assert.equal(has(bound), true, bound);
          for (const version of below) assert.equal(has(version), false, version);
          for (const version of above) assert.equal(has(version), true, version);
        });
      }
      it(`${section}, ${row}: ${feature} is there with engine ${variant} when everything just suffices`, () => {
        const { asyncAddOn = "0.0.0", syncAddOn = "0.0.0", engineVersion = "0.0.0" } = parts;
        assert.equal(supports({ asyncAddOn, syncAddOn, variant, engineVersion }, feature), true);
      });
    }
  }

  // spec: version-2
  it("has every row and clause of the spec, and nothing else", () => {
    const count = (section: SpecRow["section"]) => spec.filter((row) => row.section === section).length;
    assert.deepEqual([count("Versioning"), count("Findings topic"), count("Event bus")], [9, 6, 1]);
    assert.deepEqual(spec.flatMap(({ features }) => features).sort(), names.toSorted());
  });

  it("are those of the newest versions the spec names, for this server", () => {
    assert.deepEqual(latestAddOns, { asyncAddOn: "2.12.0", syncAddOn: "2.13.0" });
    assert.deepEqual(latestEngines, { P: "3.4.1", Q: "3.4.1" });
  });

  it("are all there in the newest versions with engine P; with engine Q all but the real file type", () => {
    assert.deepEqual(
      Object.entries(featuresOf(newest("P"))),
      names.map((name) => [name, true]),
    );
    const missing = Object.entries(featuresOf(newest("Q"))).filter(([, there]) => !there);
    assert.deepEqual(
      missing.map(([name]) => name).sort(),
      names.filter((name) => name.endsWith("realfiletype")).toSorted(),
    );
  });

  it("are never lost by an update", () => {
    const version = fc
      .tuple(fc.nat(4), fc.nat(20), fc.nat(2))
      .map(([major, minor, patch]): VersionNumber => `${major}.${minor}.${patch}`);
    const installation = fc.record({
      asyncAddOn: version,
      syncAddOn: version,
      variant: fc.constantFrom("P" as const, "Q" as const),
      engineVersion: version,
    });
    const part = fc.constantFrom("asyncAddOn" as const, "syncAddOn" as const, "engineVersion" as const);
    fc.assert(
      fc.property(installation, part, (older, updated) => {
        for (const newer of around(older[updated]).above.slice(0, 3)) {
          for (const name of names) {
            if (supports(older, name)) assert.ok(supports({ ...older, [updated]: newer }, name), name);
          }
        }
      }),
    );
  });

  it("that are missing say what they need and what there is", () => {
    const old: Installation = { asyncAddOn: "2.2.0", syncAddOn: "2.10.9", variant: "P", engineVersion: "2.7.9" };
    const current: Installation = { ...old, ...latestAddOns };
    assert.deepEqual(shortcoming(old, "async.polling"), {
      needs: "the asynchronous add-on >= 2.7.0",
      declared: "2.2.0",
    });
    assert.deepEqual(shortcoming(old, "sync.result.realfiletype"), {
      needs: "the synchronous add-on >= 2.11.0",
      declared: "2.10.9",
    });
    assert.deepEqual(shortcoming(current, "async.objstore.callback_headers"), {
      needs: "engine P >= 2.8.0",
      declared: "2.7.9",
    });
    assert.deepEqual(shortcoming(newest("Q"), "callback.realfiletype"), {
      needs: "engine P >= 2.18.0",
      declared: "engine Q",
    });
    assert.deepEqual(shortcoming(newest("Q"), "sync.result.realfiletype"), { needs: "engine P", declared: "engine Q" });
    assert.equal(shortcoming(newest("P"), "sync.result.realfiletype"), undefined);
  });

  it("say of a part of the asynchronous API that the whole is missing", () => {
    const old: Installation = { ...newest("Q"), engineVersion: "2.13.999" };
    const parts = names.filter((name) => /^(async|callback)\b/.test(name));
    assert.equal(parts.length, 9);
    for (const feature of parts) {
      assert.deepEqual(shortcoming(old, feature), { needs: "engine Q >= 2.14.0", declared: "2.13.999" }, feature);
    }
  });

  it("stand in docs/versions.md as they stand in the code", () => {
    const page = readFileSync(new URL("../../../docs/versions.md", import.meta.url), "utf8");
    const shown = page.split("\n").filter((line) => line.startsWith("| `"));
    const rows = names.map((name) => {
      const { what, asyncAddOn = "any", syncAddOn = "any", engine, partOf } = featureTable[name];
      const { Q, P } = engine ?? { Q: "any", P: "any" };
      return `| \`${name}\` | ${what} | ${asyncAddOn} | ${syncAddOn} | ${Q} | ${P} | ${partOf ? `\`${partOf}\`` : ""} |`;
    });
    assert.deepEqual(shown, rows);
  });
});
