/** Ref that focuses an element when it appears. Inside a dialog it does nothing: the dialog moves the focus when it opens. */
export function focusOnAppearing(element: HTMLElement | null): void {
  if (!element) return;
  element.dataset.first = '';
  element.focus();
}
