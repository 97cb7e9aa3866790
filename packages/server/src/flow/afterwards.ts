/**
 * What is written down and counted of work that is done: a moment later, and much of it together. Step by step, in the middle of other work,
 * it takes several times as long, because by then the processor has its code and data no longer at hand (docs/decisions/0041-afterwards.md).
 */
export interface Afterwards {
  /** Steps are done in this order. */
  add(step: () => void): void;
  /** Whatever waits is done when this returns: for those who read what was counted. */
  catchUp(): void;
  /** When the step was added that is being done; outside of steps, the time. */
  now(): number;
}

interface Waiting {
  step(): void;
  addedAt: number;
}

const EVERY_MS = 100;
/**
 * So many do not wait for more: they share a turn that is well worth its start. What waits while V8 collects twice becomes old memory, which many
 * small files or jobs bring about within the time above.
 */
const MANY = 50;
/** So many come only while nobody else has a turn, and take memory. */
const MOST_WAITING = 10_000;

export function afterwards(now: () => number = Date.now): Afterwards {
  let waiting: Waiting[] = [];
  let begun = 0;
  let addedAt: number | undefined;
  let isDue = false;

  function catchUp(): void {
    const outer = addedAt;
    for (let next = waiting[begun]; next; next = waiting[begun]) {
      begun += 1;
      addedAt = next.addedAt;
      try {
        next.step();
      } catch (error) {
        // A mistake of ours. It is nobody's who waits for the others, and ends the process as any that nobody caught.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
    addedAt = outer;
    waiting = [];
    begun = 0;
  }

  function onTime(): void {
    isDue = false;
    catchUp();
  }

  return {
    add(step) {
      waiting.push({ step, addedAt: now() });
      // Those that a step adds are done in its turn.
      if (waiting.length >= MOST_WAITING && begun === 0) catchUp();
      else if (waiting.length === MANY) setImmediate(catchUp);
      if (isDue) return;
      isDue = true;
      setTimeout(onTime, EVERY_MS);
    },
    catchUp,
    now: () => addedAt ?? now(),
  };
}

/** Each step at once. */
export const atOnce: Afterwards = { add: (step) => step(), catchUp() {}, now: Date.now };
