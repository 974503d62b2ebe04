/** The part of a query's results that a client asks for (RFC 8620 §5.5). Pure. */

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

/** @returns null if the anchor is not among the ids. */
export function takeWindow(ids: readonly string[], request: WindowRequest): Window | null {
  const { position, anchor, anchorOffset, limit } = request;
  const anchored = anchor === null ? -1 : ids.indexOf(anchor);
  if (anchor !== null && anchored < 0) return null;
  const from = anchor !== null ? anchored + anchorOffset : position < 0 ? ids.length + position : position;
  const start = Math.max(0, from);
  return { position: start, ids: ids.slice(start, start + limit) };
}
