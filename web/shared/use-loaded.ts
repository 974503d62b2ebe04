/** Hook that loads a value when its dependencies change, and ignores outdated answers. */
import { type DependencyList, useCallback, useEffect, useState } from 'react';
import { describeError } from './api.ts';

export interface Loaded<T> {
  value: T | null;
  error: string | null;
  isLoading: boolean;
  reload: () => void;
}

export function useLoaded<T>(load: () => Promise<T>, reasons: DependencyList): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({ value: null, error: null, isLoading: true });
  const [turn, setTurn] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the caller passes the dependencies
  useEffect(() => {
    let isCurrent = true;
    setState((before) => ({ ...before, isLoading: true }));
    load().then(
      (value) => isCurrent && setState({ value, error: null, isLoading: false }),
      (error: unknown) => isCurrent && setState({ value: null, error: describeError(error), isLoading: false }),
    );
    return () => {
      isCurrent = false;
    };
  }, [...reasons, turn]);
  const reload = useCallback(() => setTurn((now) => now + 1), []);
  return { ...state, reload };
}
