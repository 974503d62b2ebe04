/** Applies patches to objects (RFC 8620 §5.3). Each key of a patch is a JSON pointer without its leading slash. Pure. */

type Json = Readonly<Record<string, unknown>>;

/** @returns the patched object; null if a pointer does not resolve, or two pointers overlap. */
export function applyPatch(object: Json, patch: Json): Json | null {
  const paths = Object.keys(patch).map((key) => key.split('/').map(unescapeKey));
  const isOverlap = paths.some((path) =>
    paths.some((other) => other !== path && path.every((key, at) => key === other[at])),
  );
  if (isOverlap) return null;
  const copy = structuredClone(object) as Record<string, unknown>;
  for (const [key, value] of Object.entries(patch)) {
    const path = key.split('/').map(unescapeKey);
    const last = path.pop() ?? '';
    let at: unknown = copy;
    for (const step of path) {
      if (at === null || typeof at !== 'object' || Array.isArray(at) || !Object.hasOwn(at, step)) return null;
      at = (at as Json)[step];
    }
    if (at === null || typeof at !== 'object' || Array.isArray(at)) return null;
    const target = at as Record<string, unknown>;
    if (value === null && path.length > 0) delete target[last];
    else target[last] = value;
  }
  return copy;
}

const unescapeKey = (key: string): string => key.replaceAll('~1', '/').replaceAll('~0', '~');
