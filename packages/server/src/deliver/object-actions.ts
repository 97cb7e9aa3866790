import type { SeenObject } from "../model/source.ts";

/**
 * What is done to an object after its scan. Each adapter passes test/contracts/object-actions.ts.
 *
 * Only ever to the version that was scanned: a file that took its place meanwhile must not carry the verdict of another.
 * Both may be called again after a crash.
 */
export interface ObjectActions {
  /** Sets one tag; other tags stay. Throws when the store cannot be reached or forbids it. */
  tag(object: SeenObject, tag: { key: string; value: string }): Promise<ActionOutcome>;
  /** Deletes that version, and no other. One that is gone already counts as done. Throws as `tag` does. */
  delete(object: SeenObject): Promise<ActionOutcome>;
}

/** `changed`: the object is gone, or is another by now. Nothing was done to it. */
export type ActionOutcome = "done" | "changed";
