/**
 * `DisposableStack` and `AsyncDisposableStack` for Node 22, which does not have them yet; `using` itself is no matter, the compiler writes
 * it in older words for the package. Where Node has them nothing changes. Every entry point imports this file: nothing
 * asks for a stack before all of a program is loaded.
 */
type Undo = () => unknown;

/** What all stacks have in common: steps that undo, which go to one owner and run once. */
class Steps {
  #steps: Undo[] | undefined = [];

  get disposed(): boolean {
    return this.#steps === undefined;
  }

  add(step: Undo): void {
    if (!this.#steps) throw new ReferenceError("this stack is disposed of already");
    this.#steps.push(step);
  }

  /** All of them, the last first; this one is disposed of from now on. */
  take(): Undo[] {
    const steps = this.#steps ?? [];
    this.#steps = undefined;
    return steps.reverse();
  }

  moveTo(other: Steps): void {
    if (!this.#steps) throw new ReferenceError("this stack is disposed of already");
    for (const step of this.take().reverse()) other.add(step);
  }
}

/** The first failure as it is; a later one with those before it inside. */
class Failures {
  #found: { error: unknown } | undefined;

  add(error: unknown): void {
    if (!this.#found) this.#found = { error };
    else {
      const both = { error, suppressed: this.#found.error };
      this.#found = {
        error: Object.assign(new Error("an error was suppressed by another"), { name: "SuppressedError", ...both }),
      };
    }
  }

  throwIfAny(): void {
    if (this.#found) throw this.#found.error;
  }
}

/** @internal a test holds it against Node's own */
export class OwnDisposableStack implements DisposableStack {
  readonly #steps = new Steps();
  readonly [Symbol.toStringTag] = "DisposableStack";

  get disposed(): boolean {
    return this.#steps.disposed;
  }

  use<Value extends Disposable | null | undefined>(value: Value): Value {
    this.#steps.add(() => value?.[Symbol.dispose]());
    return value;
  }

  adopt<Value>(value: Value, onDispose: (value: Value) => void): Value {
    this.#steps.add(() => onDispose(value));
    return value;
  }

  defer(onDispose: () => void): void {
    this.#steps.add(onDispose);
  }

  move(): DisposableStack {
    const moved = new OwnDisposableStack();
    this.#steps.moveTo(moved.#steps);
    return moved;
  }

  dispose(): void {
    const failures = new Failures();
    for (const step of this.#steps.take()) {
      try {
        step();
      } catch (error) {
        failures.add(error);
      }
    }
    failures.throwIfAny();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** @internal a test holds it against Node's own */
export class OwnAsyncDisposableStack implements AsyncDisposableStack {
  readonly #steps = new Steps();
  readonly [Symbol.toStringTag] = "AsyncDisposableStack";

  get disposed(): boolean {
    return this.#steps.disposed;
  }

  use<Value extends AsyncDisposable | Disposable | null | undefined>(value: Value): Value {
    this.#steps.add(() => {
      if (!value) return undefined;
      return Symbol.asyncDispose in value ? value[Symbol.asyncDispose]() : value[Symbol.dispose]();
    });
    return value;
  }

  adopt<Value>(value: Value, onDisposeAsync: (value: Value) => PromiseLike<void> | void): Value {
    this.#steps.add(() => onDisposeAsync(value));
    return value;
  }

  defer(onDisposeAsync: () => PromiseLike<void> | void): void {
    this.#steps.add(onDisposeAsync);
  }

  move(): AsyncDisposableStack {
    const moved = new OwnAsyncDisposableStack();
    this.#steps.moveTo(moved.#steps);
    return moved;
  }

  async disposeAsync(): Promise<void> {
    const failures = new Failures();
    for (const step of this.#steps.take()) {
      try {
        await step();
      } catch (error) {
        failures.add(error);
      }
    }
    failures.throwIfAny();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disposeAsync();
  }
}

globalThis.DisposableStack ??= OwnDisposableStack as typeof DisposableStack;
globalThis.AsyncDisposableStack ??= OwnAsyncDisposableStack as typeof AsyncDisposableStack;
