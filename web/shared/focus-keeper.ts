/**
 * Keeps the focus on the page. If the focused element disappears (a deleted row, a replaced button), its successor gets
 * the focus. A page that moves the focus itself takes precedence.
 */

const FOCUSABLE =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [tabindex="0"], summary';

interface Step {
  element: Element;
  /** Index of the element among its siblings. */
  at: number;
}

/** Path of elements from the focused element up to the page. It is used to find a successor if the element disappears. */
let path: Step[] = [];

function pathOf(start: Element): Step[] {
  const steps: Step[] = [];
  for (let element: Element | null = start; element && element !== document.body; element = element.parentElement) {
    steps.push({ element, at: element.parentElement ? [...element.parentElement.children].indexOf(element) : 0 });
  }
  return steps;
}

const isShown = (element: Element): boolean => element.checkVisibility?.() ?? true;

const isTypedInto = (element: Element | undefined): boolean =>
  element?.matches('textarea, input:not([type="checkbox"], [type="radio"], [type="file"], [type="range"])') === true;

/**
 * Returns the element itself, or the first element in it that can have the focus. On a phone, a text field opens the keyboard, so
 * it gets the focus only if the lost element was a text field too.
 */
function firstIn(element: Element | undefined): HTMLElement | null {
  if (!element) return null;
  const mayType = !matchMedia('(pointer: coarse)').matches || isTypedInto(path[0]?.element);
  const all = [element, ...element.querySelectorAll(FOCUSABLE)].filter((one) => mayType || !isTypedInto(one));
  return (
    all.find((one): one is HTMLElement => one instanceof HTMLElement && one.matches(FOCUSABLE) && isShown(one)) ?? null
  );
}

/** Finds a successor of the lost element: after it, before it, or around it. */
function findPlace(): HTMLElement | null {
  const from = path.findIndex(({ element }) => element.isConnected);
  const around = path[from]?.element;
  const main = document.getElementById('main');
  if (!around || around.id === 'app') return main;
  const at = path[from - 1]?.at ?? 0;
  const siblings = [...around.children];
  // A whole page took the place of another, such as after signing in: continue from its start.
  if (around.id === 'main') return main;
  return firstIn(siblings[at]) ?? firstIn(siblings[at - 1]) ?? firstIn(around) ?? main;
}

/** Focuses an element that is not a control, so that the Tab key continues from there. */
export function focusRegion(element: HTMLElement | null): void {
  if (!element) return;
  if (!element.matches(FOCUSABLE)) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

function keep(): void {
  if (document.activeElement !== document.body) return;
  const last = path[0]?.element;
  if (last && !last.isConnected) focusRegion(findPlace());
}

export function keepFocus(): void {
  addEventListener('focusin', (event) => {
    if (event.target instanceof Element) path = pathOf(event.target);
  });
  let isAsked = false;
  new MutationObserver(() => {
    if (isAsked || document.activeElement !== document.body) return;
    isAsked = true;
    // Wait until the page's own effects have run, because one of them may move the focus.
    setTimeout(() => {
      isAsked = false;
      keep();
    }, 30);
  }).observe(document.body, { childList: true, subtree: true });
}
