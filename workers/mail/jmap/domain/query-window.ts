/** Selects the part of a query's results that a client requests (RFC 8620 §5.5). Pure. */

export interface WindowRequest {
  readonly position: number;
  readonly anchor: string | null;
  readonly anchorOffset: number;
  readonly limit: number;
}

export interface Window {
  readonly position: number;
  readonly ids: readonly string[];
}

/** @returns the requested part of the ids; null if the anchor is not among them. */
export function takeWindow(ids: readonly string[], request: WindowRequest): Window | null {
  const { position, anchor, anchorOffset, limit } = request;
  let from = position < 0 ? ids.length + position : position;
  if (anchor !== null) {
    const at = ids.indexOf(anchor);
    if (at < 0) return null;
    from = at + anchorOffset;
  }
  const start = Math.max(0, from);
  return { position: start, ids: ids.slice(start, start + limit) };
}
