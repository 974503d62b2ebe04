/** A modal dialog based on `<dialog>`: keeps the focus inside, closes on Escape, and then restores the focus. */
import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { texts } from './texts/index.ts';

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Close in a layout effect, while the element still exists: only then the browser restores the focus.
  useLayoutEffect(() => {
    const element = ref.current;
    if (element && !element.open) {
      element.showModal();
      // The first focusable element is the close button, so focus the marked one instead.
      element.querySelector<HTMLElement>('[data-first]')?.focus();
    }
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <div className="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" className="quiet icon" aria-label={texts.app.close} onClick={onClose}>
          ✕
        </button>
      </div>
      {children}
    </dialog>
  );
}
