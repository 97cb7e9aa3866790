import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { paused } from "./live.ts";

export interface Loaded<T> {
  data: T | undefined;
  problem: unknown;
  loading: boolean;
  reload(): void;
}

/** Reads something when `key` changes, and again every few seconds. What was read stays while it is read again. */
export function useLoad<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  options: { everyMs?: number | undefined; on?: (data: T) => void } = {},
): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; problem?: unknown; loading: boolean }>({
    key,
    loading: true,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef({ load, options });
  latest.current = { load, options };

  // A turn is a wish to read again.
  useEffect(() => {
    const stop = new AbortController();
    setState((before) => (before.key === key ? { ...before, loading: true } : { key, loading: true }));
    latest.current.load(stop.signal).then(
      (data) => {
        if (stop.signal.aborted) return;
        setState({ key, data, loading: false });
        latest.current.options.on?.(data);
      },
      (problem: unknown) => {
        if (!stop.signal.aborted) setState((before) => ({ ...before, key, problem, loading: false }));
      },
    );
    return () => stop.abort();
  }, [key, turn]);

  const { everyMs } = options;
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (!paused.value && !document.hidden) setTurn((before) => before + 1);
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const mine = state.key === key;
  return {
    data: mine ? state.data : undefined,
    problem: mine ? state.problem : undefined,
    loading: !mine || state.loading,
    reload,
  };
}
