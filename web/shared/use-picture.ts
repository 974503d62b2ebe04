/** Hook that fetches a picture and shows it as a `blob:` URL: the page's policy does not allow its address as an image source. */
import { type DependencyList, useEffect, useState } from 'react';

/** Content types of raster images, by file extension. Browsers show them as pictures and they run no script. */
const PICTURE_TYPES: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  gif: 'image/gif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
};

/** Returns the content type of a picture by its file name's extension; null for other files. */
export const findPictureType = (name: string): string | null =>
  PICTURE_TYPES[/\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''] ?? null;

/**
 * @param load fetches the picture; null: do not fetch. It is called again when `dependencies` change.
 * @returns the URL; null while the picture is fetched, and if that fails. `forget` removes a picture that cannot be shown.
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
