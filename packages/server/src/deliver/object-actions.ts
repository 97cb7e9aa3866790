import type { SeenObject } from "../model/source.ts";

/**
 * What is done to an object after its scan. Each adapter passes test/contracts/object-actions.ts.
 *
 * Only ever to the version that was scanned: a file that took its place meanwhile must not carry the verdict of another.
 * Both may be called again after a crash. When the signal aborts they let go of the store and throw its reason; whether the store has
 * done what was asked is not known then.
 */
export interface ObjectActions {
  /**
   * Sets one tag; other tags stay. One that has a value other than `over`, where that is given, stays too. Throws when the
   * store cannot be reached or forbids it.
   */
  tag(object: SeenObject, tag: ObjectTag, signal?: AbortSignal): Promise<ActionOutcome>;
  /** Deletes that version, and no other. One that is gone already counts as done. Throws as `tag` does. */
  delete(object: SeenObject, signal?: AbortSignal): Promise<ActionOutcome>;
}

export interface ObjectTag {
  key: string;
  value: string;
  /** The only value that this one may take the place of. */
  over?: string;
}

/** `changed`: the object is gone, or is another by now. `kept`: the tag has another value. Either way nothing was done. */
export type ActionOutcome = "done" | "changed" | "kept";
