import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type EngineVariant, type Installation, latestAddOns, type VersionNumber } from "@lazaret/contract";
import { Problem } from "../problem.ts";
import { type FeatureRequest, missingFeature, requireFeatures } from "./required-features.ts";

const engine = (variant: EngineVariant, engineVersion: VersionNumber): Installation => ({
  ...latestAddOns,
  variant,
  engineVersion,
});
const callback_url = "https://app.example.com/scanned";
const headers = { Authorization: "Bearer of-the-receiver" };

const download = { download_url: "https://files.example.com/a.zip" };
const object = { bucket: "uploads", key: "a.zip" };
const requests = {
  "a download with callback": { endpoint: "download", body: { ...download, callback_url } },
  "a download to poll for": { endpoint: "download", body: { ...download, trace_id: "t" } },
  "a download with download_headers": {
    endpoint: "download",
    body: { ...download, trace_id: "t", download_headers: headers },
  },
  "a download with empty download_headers": {
    endpoint: "download",
    body: { ...download, trace_id: "t", download_headers: {} },
  },
  "a download with callback_headers": {
    endpoint: "download",
    body: { ...download, callback_url, callback_headers: headers },
  },
  "an object with callback": { endpoint: "objstore", body: { ...object, version: "v1", callback_url } },
  "an object to poll for": { endpoint: "objstore", body: { ...object, trace_id: "t", custom_data: "x" } },
  "an object with callback_headers": {
    endpoint: "objstore",
    body: { ...object, callback_url, callback_headers: headers },
  },
  "a poll": { endpoint: "result" },
} as const satisfies Record<string, FeatureRequest>;
type RequestName = keyof typeof requests;

/** The oldest engines that take a request; and with those, the oldest asynchronous add-on. */
const bounds: Record<RequestName, { Q: VersionNumber; P: VersionNumber; addOn: VersionNumber }> = {
  "a download with callback": { Q: "2.14.0", P: "2.4.0", addOn: "0.0.0" },
  "a download to poll for": { Q: "2.14.0", P: "2.4.0", addOn: "2.7.0" },
  "a download with download_headers": { Q: "2.17.0", P: "2.8.0", addOn: "2.7.0" },
  "a download with empty download_headers": { Q: "2.17.0", P: "2.8.0", addOn: "2.7.0" },
  "a download with callback_headers": { Q: "2.17.0", P: "2.8.0", addOn: "2.2.1" },
  "an object with callback": { Q: "2.14.0", P: "2.4.0", addOn: "0.0.0" },
  "an object to poll for": { Q: "2.14.0", P: "2.4.0", addOn: "2.7.0" },
  "an object with callback_headers": { Q: "2.17.0", P: "2.8.0", addOn: "2.7.0" },
  "a poll": { Q: "2.14.0", P: "2.4.0", addOn: "2.7.0" },
};

/** The newest version before one that ends in .0 or has a patch. */
function justBelow(version: VersionNumber): VersionNumber {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  return patch > 0 ? `${major}.${minor}.${patch - 1}` : `${major}.${minor - 1}.999`;
}

describe("what a request asks of the installation", () => {
  for (const name of Object.keys(requests) as RequestName[]) {
    for (const variant of ["P", "Q"] as const) {
      const bound = bounds[name][variant];
      it(`${name} is taken from engine ${variant} ${bound} on`, () => {
        assert.equal(missingFeature(requests[name], engine(variant, bound)), undefined);
        assert.equal(missingFeature(requests[name], engine(variant, "3.4.1")), undefined);
        const below = missingFeature(requests[name], engine(variant, justBelow(bound)));
        assert.match(below?.message ?? "", new RegExp(`needs engine ${variant} >= ${bound};`));
      });
    }

    const { addOn } = bounds[name];
    it(`${name} is taken from the asynchronous add-on ${addOn} on`, () => {
      const installation = engine("P", "3.4.1");
      assert.equal(missingFeature(requests[name], { ...installation, asyncAddOn: addOn }), undefined);
      if (addOn === "0.0.0") return;
      const below = missingFeature(requests[name], { ...installation, asyncAddOn: justBelow(addOn) });
      assert.match(below?.message ?? "", new RegExp(`needs the asynchronous add-on >= ${addOn};`));
    });
  }

  it("names the field that cannot be had, what it needs and what there is", () => {
    assert.deepEqual(missingFeature(requests["a download with callback_headers"], engine("P", "2.5.0")), {
      feature: "async.download.callback_headers",
      message: "callback_headers needs engine P >= 2.8.0; this installation declares 2.5.0",
      hint: "leave callback_headers out, or let an operator attach a newer scanner installation",
    });
    assert.deepEqual(missingFeature(requests["a download with download_headers"], engine("Q", "2.16.3")), {
      feature: "async.download.download_headers",
      message: "download_headers needs engine Q >= 2.17.0; this installation declares 2.16.3",
      hint: "leave download_headers out, or let an operator attach a newer scanner installation",
    });
  });

  it("names the asynchronous API before any of its parts", () => {
    for (const request of Object.values(requests)) {
      assert.deepEqual(missingFeature(request, engine("Q", "2.13.999")), {
        feature: "async",
        message: "the asynchronous API needs engine Q >= 2.14.0; this installation declares 2.13.999",
        hint: "use the synchronous API, or let an operator attach a newer scanner installation",
      });
    }
  });

  it("is refused with 400 unsupported_by_engine, which tells no header", () => {
    const request = requests["an object with callback_headers"];
    requireFeatures(request, engine("P", "2.8.0"));
    assert.throws(
      () => requireFeatures(request, engine("P", "2.7.0")),
      (problem) => {
        assert.ok(problem instanceof Problem);
        assert.deepEqual([problem.status, problem.code], [400, "unsupported_by_engine"]);
        assert.match(problem.message, /^callback_headers needs engine P >= 2\.8\.0/);
        assert.doesNotMatch(`${problem.message} ${problem.hint}`, /Bearer|Authorization/);
        return true;
      },
    );
  });
});
