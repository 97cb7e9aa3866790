import { catalog, type MetricName, type MetricSpec } from "./catalog.ts";

/**
 * Counters and histograms for the way of every request. prom-client's own take 0.3 and 0.9 µs each, as they make a text of all labels
 * every time; these take a tenth of that, and are handed to prom-client when somebody reads them (docs/decisions/0033-metrics.md).
 */
export interface Family {
  name: string;
  help: string;
  type: MetricSpec["type"];
  values: Value[];
}

/** As prom-client has them; of a histogram, `metricName` is the name with `_bucket`, `_sum` or `_count`. */
interface Value {
  labels: Record<string, string | number>;
  value: number;
  metricName?: string;
}

/** A value of a label; what has none has not that label. */
type LabelValue = string | number | undefined;

interface Node<Cell> {
  cell: Cell | undefined;
  further: Map<LabelValue, Node<Cell>>;
}

/** A cell for each combination of labels that was met. */
interface Cells<Cell> {
  at(values: readonly LabelValue[]): Cell;
  all(): Iterable<[labels: Record<string, string | number>, cell: Cell]>;
}

function cellsBy<Cell>(names: readonly string[], make: () => Cell): Cells<Cell> {
  const root: Node<Cell> = { cell: undefined, further: new Map() };

  function* under(node: Node<Cell>, depth: number, labels: Record<string, string | number>): ReturnType<typeof all> {
    if (node.cell !== undefined) yield [labels, node.cell];
    const name = names[depth] ?? "";
    for (const [value, next] of node.further)
      yield* under(next, depth + 1, value === undefined ? labels : { ...labels, [name]: value });
  }
  function* all(): Generator<[Record<string, string | number>, Cell]> {
    yield* under(root, 0, {});
  }
  return {
    at(values) {
      let node = root;
      for (const value of values) {
        let next = node.further.get(value);
        if (!next) {
          next = { cell: undefined, further: new Map() };
          node.further.set(value, next);
        }
        node = next;
      }
      node.cell ??= make();
      return node.cell;
    },
    all,
  };
}

export interface Counter {
  /** With values for the labels, in the order of the catalog. */
  add(values: readonly LabelValue[], by?: number): void;
  family(): Family;
}

/** `known`: what is there with 0 before anything happens. */
export function counter(name: MetricName, known: readonly (readonly LabelValue[])[] = []): Counter {
  const { help, type, labels = [] }: MetricSpec = catalog[name];
  const cells = cellsBy(labels, () => ({ count: 0 }));
  for (const values of known) cells.at(values);
  return {
    add(values, by = 1) {
      cells.at(values).count += by;
    },
    family: () => ({
      name,
      help,
      type,
      values: [...cells.all()].map(([labels, { count }]) => ({ labels, value: count })),
    }),
  };
}

export interface Histogram {
  observe(values: readonly LabelValue[], seconds: number): void;
  family(): Family;
}

export function histogram(name: MetricName, known: readonly (readonly LabelValue[])[] = []): Histogram {
  const { help, type, labels = [], buckets = [] }: MetricSpec = catalog[name];
  const cells = cellsBy(labels, () => ({ sum: 0, counts: new Array<number>(buckets.length + 1).fill(0) }));
  for (const values of known) cells.at(values);
  return {
    observe(values, seconds) {
      const cell = cells.at(values);
      let bucket = 0;
      while (bucket < buckets.length && seconds > (buckets[bucket] ?? 0)) bucket += 1;
      cell.counts[bucket] = (cell.counts[bucket] ?? 0) + 1;
      cell.sum += seconds;
    },
    family: () => ({
      name,
      help,
      type,
      values: [...cells.all()].flatMap(([labels, { sum, counts }]) => {
        let count = 0;
        const bucketValues = counts.map((more, index): Value => {
          count += more;
          return { labels: { ...labels, le: buckets[index] ?? "+Inf" }, value: count, metricName: `${name}_bucket` };
        });
        const total = { labels, value: count, metricName: `${name}_count` };
        return [...bucketValues, { labels, value: sum, metricName: `${name}_sum` }, total];
      }),
    }),
  };
}
