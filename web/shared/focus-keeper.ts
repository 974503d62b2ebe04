/**
 * Keeps the focus on the page. If the focused element disappears (a deleted row, a replaced button), its successor gets
 * the focus. A page that moves the focus itself takes precedence.
 */

const FOCUSABLE =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [tabindex="0"], summary';

interface Step {
  element: Element;
  /** Index among its siblings. */
  at: number;
}

/** From the focused element up to the page. */
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
 * The element itself, or the first element in it that can have the focus. A text field only follows a text field: on a
 * phone it opens the keyboard.
 */
function firstIn(element: Element | undefined): HTMLElement | null {
  if (!element) return null;
  const wasTyping = isTypedInto(path[0]?.element);
  const all = [element, ...element.querySelectorAll(FOCUSABLE)].filter((one) => wasTyping || !isTypedInto(one));
  return (
    all.find((one): one is HTMLElement => one instanceof HTMLElement && one.matches(FOCUSABLE) && isShown(one)) ?? null
  );
}

/** Finds the element after the lost one, or before it, or around it. */
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
    // Wait for the page's own effects.
    setTimeout(() => {
      isAsked = false;
      keep();
    }, 30);
  }).observe(document.body, { childList: true, subtree: true });
}
