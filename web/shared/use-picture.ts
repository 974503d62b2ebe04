/** A fetched picture as a `blob:` URL: the page's policy does not allow its address as a source. */
import { type DependencyList, useEffect, useState } from 'react';

/**
 * @param load null: do not fetch. It is called again when `dependencies` change.
 * @returns the URL; null while it is fetched, and if that fails. `forget` removes a picture that cannot be shown.
 */
export function usePicture(
  load: ((signal: AbortSignal) => Promise<Response>) | null,
  type: string,
  dependencies: DependencyList,
): { url: string | null; forget: () => void } {
  const [url, setUrl] = useState<string | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the caller names what `load` depends on
  useEffect(() => {
    if (load === null) return;
    const stop = new AbortController();
    let made: string | null = null;
    load(stop.signal)
      .then((response) => response.arrayBuffer())
      .then((bytes) => {
        if (stop.signal.aborted) return;
        made = URL.createObjectURL(new Blob([bytes], { type }));
        setUrl(made);
      })
      .catch(() => undefined);
    return () => {
      stop.abort();
      if (made !== null) URL.revokeObjectURL(made);
    };
  }, [type, ...dependencies]);
  return { url, forget: () => setUrl(null) };
}
