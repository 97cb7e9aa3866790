import { ScaledObject } from "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject";
import { TriggerAuthentication } from "@kubernetes-models/keda/keda.sh/v1alpha1/TriggerAuthentication";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { StatefulSet } from "kubernetes-models/apps/v1/StatefulSet";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler";
import { Job } from "kubernetes-models/batch/v1/Job";
import { Ingress } from "kubernetes-models/networking.k8s.io/v1/Ingress";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { Pod } from "kubernetes-models/v1/Pod";
import { Service } from "kubernetes-models/v1/Service";
import { ServiceAccount } from "kubernetes-models/v1/ServiceAccount";

/** Those that the chart makes. */
const kinds = [
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  Job,
  NetworkPolicy,
  Pod,
  PodDisruptionBudget,
  ScaledObject,
  Service,
  ServiceAccount,
  ServiceMonitor,
  StatefulSet,
  TriggerAuthentication,
];

/**
 * What is wrong with an object by the OpenAPI schemas of Kubernetes, of KEDA and of the Prometheus operator; nothing if it is right.
 * The schemas come as compiled functions, which pass over fields that they do not know: so we note which fields they read, and a
 * field that none of them wanted to see is one that the server would not know either.
 */
export function problemsOf(object: unknown): string[] {
  const { apiVersion, kind } = object as { apiVersion?: string; kind?: string };
  const model = kinds.find((each) => each.apiVersion === apiVersion && each.kind === kind);
  if (!model) return [`there is no schema for ${apiVersion} ${kind}`];
  const unread = new Set<string>();
  try {
    model.prototype.validate.call(watched(object, "", unread) as InstanceType<typeof model>);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  return [...unread].map((path) => `${path.slice(1)} is not a field`);
}

/** The same value, which takes each field that is read out of `unread`. */
function watched(value: unknown, path: string, unread: Set<string>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const inner = new Map<PropertyKey, unknown>();
  for (const [key, each] of Object.entries(value)) {
    if (!Array.isArray(value)) unread.add(`${path}.${key}`);
    inner.set(key, watched(each, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`, unread));
  }
  return new Proxy(value, {
    get(target, key) {
      unread.delete(`${path}.${String(key)}`);
      return inner.has(key) ? inner.get(key) : Reflect.get(target, key);
    },
  });
}
