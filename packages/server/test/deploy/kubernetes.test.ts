import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { GRACE_MS } from "../../src/pipeline/limits.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import { problemsOf } from "./kubernetes-kinds.ts";
import {
  containersOf,
  everythingRendered,
  type KubernetesObject,
  type PodTemplate,
  podsOf,
  projectFile,
  projectPath,
  selects,
} from "./rendered-objects.ts";

const rendered = everythingRendered();
const pods = rendered.flatMap(({ name, objects }) =>
  podsOf(objects).map((pod) => ({ ...pod, of: `${name}: ${pod.of}` })),
);
const containers = pods.flatMap((pod) =>
  containersOf(pod).map((container) => ({ pod, container, what: `${pod.of}, ${container.name}` })),
);
const services = containers.filter(({ container }) => container.name === "lazaret");

test("the manifests are what the chart makes: neither has changed without the other", () => {
  const sums = projectFile("deploy/kubernetes/made-from.sha256").trimEnd().split("\n");
  const changed = sums.filter((line) => {
    const [sum, path = ""] = line.split("  ");
    return createHash("sha256").update(projectFile(path)).digest("hex") !== sum;
  });
  assert.deepEqual(changed, [], "run npm run manifests");

  const folders = ["templates", "files"].map((name) => `deploy/helm/lazaret/${name}`);
  folders.push("deploy/helm/values", "deploy/helm/variants", "packages/server/test/deploy/rendered");
  const there = folders.flatMap((folder) =>
    readdirSync(projectPath(folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.parentPath}/${entry.name}`.slice(projectPath("").length)),
  );
  const noted = sums.map((line) => line.split("  ")[1]);
  assert.deepEqual(
    there.filter((path) => !noted.includes(path)),
    [],
    "run npm run manifests",
  );
});

test("clamd in a cluster has the recommended settings", () => {
  assert.equal(projectFile("deploy/helm/lazaret/files/clamd.conf"), projectFile("deploy/clamd.conf"));
  const lines = (text: string): string[] => text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const stock = lines(projectFile("deploy/clamd.conf"));
  for (const { name, objects } of rendered) {
    const settings = objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name.endsWith("-clamd"));
    if (!settings) continue;
    const here = lines(settings.data["clamd.conf"]);
    const differs = [...stock.filter((line) => !here.includes(line)), ...here.filter((line) => !stock.includes(line))];
    const names = differs.map((line) => line.split(" ")[0]).filter((word) => word !== "MaxThreads");
    const shared = objects.some(({ metadata }) => metadata.labels["app.kubernetes.io/component"] === "clamd");
    const expected = ["User", "TemporaryDirectory", "TemporaryDirectory", ...(shared ? ["TCPSocket"] : [])];
    assert.deepEqual(names, expected, name);
  }
});

test("every object is one that Kubernetes, KEDA or the Prometheus operator knows, to its last field", () => {
  const problems = rendered.flatMap(({ name, objects }) =>
    objects.flatMap((object) => problemsOf(object).map((problem) => `${name}: ${object.kind}: ${problem}`)),
  );
  assert.deepEqual(problems, []);
});

test("an unknown field, a wrong type and a missing field are noticed wherever they are", () => {
  const [postgres] = rendered.filter(({ name }) => name === "postgres.yaml");
  const deployment = postgres?.objects.find(({ kind }) => kind === "Deployment");
  const broken = (change: (copy: KubernetesObject) => void): string[] => {
    const copy = structuredClone(deployment) as KubernetesObject;
    change(copy);
    return problemsOf(copy);
  };
  assert.deepEqual(
    broken(() => {}),
    [],
  );
  const spec = (copy: KubernetesObject) => copy.spec.template.spec;
  assert.deepEqual(
    broken((copy) => Object.assign(copy, { specs: {} })),
    ["specs is not a field"],
  );
  assert.deepEqual(
    broken((copy) => Object.assign(spec(copy).containers[0].securityContext, { readOnlyRootFileSystem: true })),
    ["spec.template.spec.containers[0].securityContext.readOnlyRootFileSystem is not a field"],
  );
  assert.match(String(broken((copy) => Object.assign(copy.spec, { replicas: "2" }))), /replicas/);
  assert.match(String(broken((copy) => delete spec(copy).containers)), /containers/);
  assert.deepEqual(problemsOf({ apiVersion: "v1", kind: "Pot" }), ["there is no schema for v1 Pot"]);
});

test("pods are as the restricted standard of Kubernetes wants them, and write nowhere but to their volumes", () => {
  for (const { of, spec } of pods) {
    assert.equal(spec.securityContext.runAsNonRoot, true, of);
    assert.equal(spec.securityContext.seccompProfile.type, "RuntimeDefault", of);
    for (const field of ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"]) assert.ok(!spec[field], of);
    const sorts = new Set(
      (spec.volumes ?? []).flatMap(({ name: _, ...sort }: object & { name: string }) => Object.keys(sort)),
    );
    assert.deepEqual([...sorts.difference(new Set(["configMap", "emptyDir", "secret"]))], [], of);
    for (const { emptyDir } of spec.volumes ?? [])
      assert.ok(!emptyDir || emptyDir.sizeLimit, `${of}: a volume without a size`);
  }
  for (const { container, what } of containers) {
    const { runAsUser = 1, ...security } = container.securityContext;
    assert.ok(runAsUser > 0, what);
    assert.deepEqual(
      security,
      {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ["ALL"] },
        privileged: false,
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
        seccompProfile: { type: "RuntimeDefault" },
      },
      what,
    );
    for (const sort of ["requests", "limits"]) assert.ok(container.resources[sort].memory, `${what}: ${sort}`);
    for (const { hostPort } of container.ports ?? []) assert.equal(hostPort, undefined, what);
  }
});

test("no pod has a token of the cluster, or variables of Services, one of which would be LAZARET_PORT", () => {
  for (const { of, spec } of pods) {
    assert.equal(spec.automountServiceAccountToken, false, of);
    assert.equal(spec.enableServiceLinks, false, of);
  }
  for (const { objects } of rendered)
    for (const { kind, automountServiceAccountToken } of objects)
      if (kind === "ServiceAccount") assert.equal(automountServiceAccountToken, false);
});

test("clamd sees no secret and runs as a user of its own", () => {
  for (const { container, pod, what } of containers) {
    if (!["signatures", "clamd", "freshclam"].includes(container.name)) continue;
    const mounted = container.volumeMounts.map(({ name }: { name: string }) => name);
    assert.deepEqual(
      mounted.filter((name: string) => ["secrets", "tls", "data", "tmp"].includes(name)),
      [],
      what,
    );
    assert.notEqual(container.securityContext.runAsUser, pod.spec.securityContext.runAsUser, what);
  }
});

test("every image has a version or a digest", () => {
  for (const { container, what } of containers)
    assert.match(container.image, /@sha256:[0-9a-f]{64}$|:\d+\.\d+\.\d+$/, what);
});

test("the service is asked whether it lives and whether it is ready, and has time to end", () => {
  assert.ok(services.length > 0);
  for (const { container, pod, what } of services) {
    const { startupProbe, readinessProbe, livenessProbe } = container;
    const paths = [startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => `${httpGet.port} ${httpGet.path}`);
    assert.deepEqual(paths, ["http /livez", "http /readyz", "http /livez"], what);
    assert.ok(startupProbe.periodSeconds * startupProbe.failureThreshold >= 600, what);
    assert.ok(pod.spec.terminationGracePeriodSeconds * 1000 >= GRACE_MS + 5000, what);
    // Started before it, and ended after it.
    for (const { name, restartPolicy } of pod.spec.initContainers ?? [])
      assert.equal(restartPolicy, name === "signatures" ? undefined : "Always", what);
  }
});

test("the service starts with the settings that it gets, and secrets are only ever in files", () => {
  for (const { container, pod, what } of containers) {
    const env: Record<string, string> = {};
    for (const { name, value, ...elsewhere } of container.env ?? []) {
      assert.deepEqual(elsewhere, {}, `${what}: ${name} is a value`);
      env[name] = value;
    }
    if (!Object.keys(env).some((name) => name.startsWith("LAZARET_"))) continue;
    const files: string[] = [];
    const readSecretFile = (path: string): string => {
      files.push(path);
      return samples[path.replace(/^.*\//, "")] ?? "a-key-of-many-characters";
    };
    const read = readSettings({ flags: {}, env, file: {}, readSecretFile });
    assert.ok(read.kind === "ok", `${what}: ${JSON.stringify(read)}`);
    const { platform, postgresUrl, secretKey, role } = read.settings;
    assert.equal(platform === "postgres", postgresUrl !== "", what);
    // Who changes tables has no use for the key of what is in them.
    assert.equal(platform === "postgres" && !what.endsWith(", migrate"), secretKey !== "", what);
    const there = secretFiles(pod, container.volumeMounts);
    assert.deepEqual(
      files.filter((file) => !there.includes(file)),
      [],
      what,
    );
    if (role === "worker")
      assert.deepEqual(
        there.filter((file) => /(?:api|admin|viewer)-keys$/.test(file)),
        [],
        what,
      );
  }
});

const samples: Record<string, string> = {
  "postgres-url": "postgresql://lazaret:word@db:5432/lazaret",
  "secret-key": "0".repeat(64),
  subscriptions: "[]",
  "event-targets": "[]",
  "smtp-url": "smtp://mail.example.com:587",
};

/** The paths of all files of Secrets that a container sees. */
function secretFiles({ spec }: PodTemplate, mounts: readonly { name: string; mountPath: string }[]): string[] {
  return mounts.flatMap(({ name, mountPath }) => {
    const { secret } = (spec.volumes ?? []).find((volume: { name: string }) => volume.name === name) ?? {};
    return (secret?.items ?? []).map(({ path }: { path: string }) => `${mountPath}/${path}`);
  });
}

test("what objects name is there: volumes, ports, pods, accounts, targets", () => {
  for (const { name, objects } of rendered) {
    const here = podsOf(objects);
    for (const pod of here)
      for (const problem of looseEnds(pod, objects)) assert.fail(`${name}: ${pod.of}: ${problem}`);
    for (const { kind, metadata, spec } of objects) {
      const what = `${name}: ${kind} ${metadata.name}`;
      const selector = kind === "Service" ? spec.selector : (spec?.podSelector ?? spec?.selector)?.matchLabels;
      if (["Service", "NetworkPolicy", "PodDisruptionBudget", "Deployment", "StatefulSet"].includes(kind)) {
        const chosen = here.filter(({ labels }) => selects(selector, labels));
        assert.ok(chosen.length > 0, `${what} selects no pod`);
        for (const { targetPort } of kind === "Service" ? spec.ports : [])
          for (const pod of chosen)
            assert.ok(
              containersOf(pod).some(({ ports = [] }) =>
                ports.some((port: { name: string }) => port.name === targetPort),
              ),
              `${what}: ${pod.of} has no port ${targetPort}`,
            );
      }
      if (kind === "ServiceMonitor")
        assert.ok(
          objects.some((each) => each.kind === "Service" && selects(selector, each.metadata.labels)),
          what,
        );
      if (spec?.scaleTargetRef) {
        const target = objects.find(
          (each) => each.kind === "Deployment" && each.metadata.name === spec.scaleTargetRef.name,
        );
        assert.ok(target, what);
        assert.equal(target.spec.replicas, undefined, `${what}: two decide how many there are`);
      }
    }
  }
});

function looseEnds({ spec, claims }: PodTemplate, objects: readonly KubernetesObject[]): string[] {
  const volumes = [...claims, ...(spec.volumes ?? []).map(({ name }: { name: string }) => name)];
  const mounts = [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ volumeMounts = [] }) => volumeMounts);
  const named = (kind: string, name: string): boolean =>
    objects.some((object) => object.kind === kind && object.metadata.name === name);
  const account = spec.serviceAccountName;
  return [
    ...mounts.filter(({ name }) => !volumes.includes(name)).map(({ name }) => `mounts ${name}, which is no volume`),
    ...volumes.filter((name) => !mounts.some((mount) => mount.name === name)).map((name) => `${name} is not mounted`),
    ...(account && !named("ServiceAccount", account) ? [`there is no account ${account}`] : []),
  ];
}
