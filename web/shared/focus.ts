/** For `ref`: what appears because somebody asked to type there takes the focus once. */
export const focusOnAppearing = (element: HTMLElement | null): void => element?.focus();
