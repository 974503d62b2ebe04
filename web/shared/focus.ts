/** Ref that focuses an element when it appears. In a dialog, the dialog does that once it is open. */
export function focusOnAppearing(element: HTMLElement | null): void {
  if (!element) return;
  element.dataset.first = '';
  element.focus();
}
