/**
 * Short messages at the bottom of the page, which screen readers read out. A toast may have an action such as Undo. It
 * stays while the pointer or the focus is on it. Announcements are read out but not shown.
 */
import type { FocusEvent } from 'react';
import { focusRegion } from './focus-keeper.ts';
import { createStore, useStore } from './store.ts';

interface Toast {
  id: number;
  text: string;
  bad: boolean;
  action?: { label: string; run: () => void };
}

const store = createStore<{ toasts: Toast[]; announced: string }>({ toasts: [], announced: '' });
let lastId = 0;
let isHeld = false;

/** Time in milliseconds that a toast stays after the pointer has left it, so that the user can finish reading. */
const AFTER_HOLD_MS = 2000;

function expire(id: number, afterMs: number): void {
  setTimeout(() => (isHeld ? expire(id, AFTER_HOLD_MS) : dismissToast(id)), afterMs);
}

export function dismissToast(id: number): void {
  store.set(({ toasts }) => ({ toasts: toasts.filter((toast) => toast.id !== id) }));
}

export interface ToastOptions {
  bad?: boolean;
  action?: Toast['action'];
  durationMs?: number;
}

export function showToast(text: string, { bad = false, action, durationMs = 5000 }: ToastOptions = {}): number {
  lastId += 1;
  const id = lastId;
  const toast: Toast = action ? { id, text, bad, action } : { id, text, bad };
  store.set(({ toasts }) => ({ toasts: [...toasts.slice(-2), toast] }));
  expire(id, durationMs);
  return id;
}

export const showError = (error: unknown): number =>
  showToast(error instanceof Error ? error.message : String(error), { bad: true, durationMs: 8000 });

/** Announces a text to screen readers only. */
export const announce = (text: string): void => store.set({ announced: text });

const hold = () => {
  isHeld = true;
};
/** Element that had the focus before it moved into a toast. It gets the focus back when the toast closes. */
let focusBefore: Element | null = null;
const onFocus = (event: FocusEvent<HTMLElement>) => {
  hold();
  if (!event.currentTarget.contains(event.relatedTarget)) focusBefore = event.relatedTarget;
};
function restoreFocus(): void {
  const target = focusBefore?.isConnected ? focusBefore : document.getElementById('main');
  if (target instanceof HTMLElement) focusRegion(target);
}
const release = () => {
  isHeld = false;
};

export function Toasts() {
  const toasts = useStore(store, (state) => state.toasts);
  const announced = useStore(store, (state) => state.announced);
  return (
    <>
      <p className="visually-hidden" role="status">
        {announced}
      </p>
      <div
        className="toasts"
        onPointerEnter={hold}
        onPointerLeave={release}
        onFocus={onFocus}
        onBlur={release}
        role="status"
        aria-live="polite"
      >
        {toasts.map((toast) => (
          <div key={toast.id} className={toast.bad ? 'toast bad' : 'toast'}>
            <span>{toast.text}</span>
            {toast.action && (
              <button
                type="button"
                onClick={() => {
                  release();
                  restoreFocus();
                  dismissToast(toast.id);
                  toast.action?.run();
                }}
              >
                {toast.action.label}
              </button>
            )}
          </div>
        ))}
      </div>
    </>
  );
}
