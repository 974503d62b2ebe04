/** Ref that focuses an input when it appears. */
export const focusOnAppearing = (element: HTMLElement | null): void => element?.focus();
