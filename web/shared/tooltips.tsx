/** One tooltip for the page: the `data-tip` and `data-keys` of the element under the mouse or with the visible focus. */
import { useEffect, useLayoutEffect, useRef, useState } from 'react';

/** Delay in milliseconds before a tooltip opens, so that a pointer that passes by opens none. */
const OPEN_AFTER_MS = 350;
const GAP_PX = 8;

interface Tip {
  text: string;
  keys: string[];
  around: DOMRect;
  isBeside: boolean;
}

function readTip(target: EventTarget | null): Tip | null {
  const element = target instanceof Element ? target.closest<HTMLElement>('[data-tip]') : null;
  if (!element) return null;
  const { tip: text = '', keys } = element.dataset;
  const isBeside = element.closest('.rail') !== null && innerWidth > 820;
  return { text, keys: keys?.split(' ') ?? [], around: element.getBoundingClientRect(), isBeside };
}

/** Places the tooltip below the element, above it if there is no room, or beside it in the rail. It never leaves the window. */
function place({ around, isBeside }: Tip, width: number, height: number): [left: number, top: number] {
  if (isBeside) return [around.right + GAP_PX, around.top + (around.height - height) / 2];
  const left = around.left + (around.width - width) / 2;
  const below = around.bottom + GAP_PX;
  const top = below + height > innerHeight ? around.top - height - GAP_PX : below;
  return [Math.max(GAP_PX, Math.min(left, innerWidth - width - GAP_PX)), top];
}

export function Tooltips() {
  const [tip, setTip] = useState<Tip | null>(null);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const close = () => {
      clearTimeout(timer);
      setTip(null);
    };
    const offer = (target: EventTarget | null) => {
      close();
      if (readTip(target)) timer = setTimeout(() => setTip(readTip(target)), OPEN_AFTER_MS);
    };
    const onOver = (event: PointerEvent) => event.pointerType === 'mouse' && offer(event.target);
    const onFocus = (event: FocusEvent) => {
      if (event.target instanceof Element && event.target.matches(':focus-visible')) offer(event.target);
    };
    addEventListener('pointerover', onOver);
    addEventListener('focusin', onFocus);
    for (const name of ['pointerdown', 'keydown', 'focusout', 'wheel']) addEventListener(name, close);
    return () => {
      removeEventListener('pointerover', onOver);
      removeEventListener('focusin', onFocus);
      for (const name of ['pointerdown', 'keydown', 'focusout', 'wheel']) removeEventListener(name, close);
      clearTimeout(timer);
    };
  }, []);
  useLayoutEffect(() => {
    if (!tip || !box.current) return;
    const [left, top] = place(tip, box.current.offsetWidth, box.current.offsetHeight);
    box.current.style.translate = `${Math.round(left)}px ${Math.round(top)}px`;
  }, [tip]);
  if (!tip) return null;
  return (
    <div ref={box} className="tooltip" aria-hidden="true">
      {tip.text}
      {tip.keys.map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </div>
  );
}
