import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { addressGuard } from "../../src/net/address-guard.ts";
import { addressBytes, covers, type Network, parseNetwork } from "../../src/net/networks.ts";
import { everythingRendered, type KubernetesObject, type PodTemplate, podsOf, selects } from "./rendered-objects.ts";

const METADATA = [
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  "168.63.129.16",
  "100.100.100.200",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd00:ec2::23",
  "fd20:ce::254",
  "fe80::a9fe:a9fe",
  "::ffff:169.254.169.254",
  "64:ff9b::a9fe:a9fe",
  "2002:a9fe:a9fe::1",
];
const guard = addressGuard({ allowNetworks: [], allowHosts: [] });
const rendered = everythingRendered();
const manifests = rendered.filter(({ name }) => /^(?:embedded|postgres|aws)\.yaml$/.test(name));
const guarded = rendered.filter(({ name }) => name !== "without-clamd.yaml");

interface Peer {
  ipBlock?: { cidr: string; except?: string[] };
  podSelector?: { matchLabels: Record<string, string> };
  namespaceSelector?: { matchLabels: Record<string, string> };
}
interface Rule {
  to?: Peer[];
  from?: Peer[];
  ports?: { protocol: string; port?: number }[];
}

/** The rules of all policies that select the pod: together they say what is open. Undefined where none does, and all is open. */
function rulesFor(
  pod: PodTemplate,
  objects: readonly KubernetesObject[],
  way: "Ingress" | "Egress",
): Rule[] | undefined {
  const chosen = objects.filter(
    ({ kind, spec }) =>
      kind === "NetworkPolicy" && spec.policyTypes.includes(way) && selects(spec.podSelector.matchLabels, pod.labels),
  );
  return chosen.length === 0 ? undefined : chosen.flatMap(({ spec }) => spec[way.toLowerCase()] ?? []);
}

/** Whether one of the rules opens the way by TCP to an address outside of the cluster. */
function mayReach(rules: readonly Rule[] | undefined, address: string, port: number): boolean {
  if (!rules) return true;
  return rules.some(
    ({ to, ports }) =>
      (!ports || ports.some((each) => each.protocol === "TCP" && (each.port ?? port) === port)) &&
      (!to || to.some(({ ipBlock }) => ipBlock !== undefined && isIn(ipBlock, address))),
  );
}

function isIn({ cidr, except = [] }: { cidr: string; except?: string[] }, address: string): boolean {
  const bytes = addressBytes(address);
  assert.ok(bytes, address);
  return covers(network(cidr), bytes) && !except.some((each) => covers(network(each), bytes));
}

const known = new Map<string, Network>();
function network(text: string): Network {
  const parsed = known.get(text) ?? parseNetwork(text);
  assert.ok(parsed, `${text} is no network`);
  known.set(text, parsed);
  return parsed;
}

test("no pod reaches metadata, on whatever port, while downloads from the internet work", () => {
  for (const { name, objects } of guarded) {
    for (const pod of podsOf(objects)) {
      if (pod.labels["app.kubernetes.io/name"] !== "lazaret") continue;
      const rules = rulesFor(pod, objects, "Egress");
      for (const port of [53, 80, 443, 3310, 5432, 6432, 8040])
        for (const address of METADATA)
          assert.equal(mayReach(rules, address, port), false, `${name}: ${pod.of} reaches ${address}:${port}`);
      if (name === "shared-clamd.yaml") continue; // internet: false
      for (const address of ["93.184.215.14", "8.8.8.8", "2606:4700::6810:84e5"])
        for (const port of [80, 443, 8443])
          assert.equal(mayReach(rules, address, port), true, `${name}: ${pod.of} does not reach ${address}:${port}`);
    }
  }
});

test("the policy takes the same addresses for public as the service itself", () => {
  const byte = fc.integer({ min: 0, max: 255 });
  const ipv4 = fc.tuple(byte, byte, byte, byte).map((bytes) => bytes.join("."));
  // Around the borders of the ranges, where mistakes are.
  const borders = manifests.flatMap(({ objects }) =>
    objects.flatMap(({ kind, spec }) =>
      kind !== "NetworkPolicy" ? [] : (spec.egress ?? []).flatMap((rule: Rule) => (rule.to ?? []).flatMap(bordersOf)),
    ),
  );
  const hextet = fc.integer({ min: 0, max: 0xffff }).map((number) => number.toString(16));
  const ipv6 = fc
    .tuple(fc.constantFrom("2001", "2002", "2606", "2620", "2a00", "3fff", "fd00", "fe80", "64", "0"), hextet, hextet)
    .map(([first, second, last]) => `${first}:${second}::${last}`);
  const policies = manifests.map(({ objects }) => {
    const [pod] = podsOf(objects);
    assert.ok(pod);
    return rulesFor(pod, objects, "Egress");
  });
  fc.assert(
    fc.property(fc.oneof(ipv4, ipv6, fc.constantFrom(...borders)), (address) => {
      for (const rules of policies) assert.equal(mayReach(rules, address, 443), guard.mayDial(address, address, 443));
    }),
    { numRuns: 2000 },
  );
});

/** The first and the last address of each IPv4 range, and those before and after it. */
function bordersOf({ ipBlock }: Peer): string[] {
  if (!ipBlock) return [];
  return [ipBlock.cidr, ...(ipBlock.except ?? [])].flatMap((cidr) => {
    const { base, bits } = network(cidr);
    if (base.length !== 4) return [];
    const first = base.reduce((sum, each) => sum * 256 + each, 0);
    const size = 2 ** (32 - bits);
    return [first - 1, first, first + size - 1, first + size]
      .filter((number) => number >= 0 && number < 2 ** 32)
      .map((number) => [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join("."));
  });
}

test("the database is reached on its port in private networks, and nothing else there", () => {
  const open = (name: string, address: string, port: number): boolean => {
    const { objects = [] } = rendered.find((each) => each.name === name) ?? {};
    const worker = podsOf(objects).find(({ labels }) => labels["app.kubernetes.io/component"] === "worker");
    assert.ok(worker);
    return mayReach(rulesFor(worker, objects, "Egress"), address, port);
  };
  assert.equal(open("postgres.yaml", "10.1.2.3", 5432), true);
  assert.equal(open("postgres.yaml", "10.1.2.3", 443), false);
  assert.equal(open("aws.yaml", "10.1.2.3", 5432), false);
  assert.equal(open("every-option.yaml", "10.50.0.7", 6432), true);
  assert.equal(open("every-option.yaml", "10.50.0.8", 6432), false);
  // allowNetworks, allowCallbackNetworks, networks.
  for (const address of ["10.20.1.1", "10.30.1.1", "10.40.0.1", "fd12:3456::1"])
    assert.equal(open("every-option.yaml", address, 8443), true, address);
  assert.equal(open("shared-clamd.yaml", "93.184.215.14", 443), false);
});

test("console and metrics are for the monitoring alone, a worker and clamd for nobody else", () => {
  const from = (name: string, component: string, port: number): Peer[][] => {
    const { objects = [] } = rendered.find((each) => each.name === name) ?? {};
    const pod = podsOf(objects).find(({ labels }) => labels["app.kubernetes.io/component"] === component);
    assert.ok(pod);
    const rules = rulesFor(pod, objects, "Ingress") ?? assert.fail(`${name}: everybody reaches ${component}`);
    return rules.filter(({ ports }) => ports?.some((each) => each.port === port)).map((rule) => rule.from ?? []);
  };
  const monitoring = [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }];
  for (const { name } of manifests) {
    const component = name === "embedded.yaml" ? "embedded" : "worker";
    assert.deepEqual(from(name, component, 8041), [monitoring], name);
    assert.deepEqual(from(name, component, 3310), [], name);
  }
  assert.deepEqual(from("every-option.yaml", "api", 8041), []);
  const [callers = []] = from("shared-clamd.yaml", "clamd", 3310);
  assert.deepEqual(
    callers.map(({ podSelector }) => podSelector?.matchLabels["lazaret/service"]),
    ["true"],
  );
  assert.deepEqual(from("shared-clamd.yaml", "clamd", 8040), []);
});
