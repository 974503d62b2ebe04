/** Short messages at the foot of the page, read out by screen readers; one may carry an action such as Undo. */
import { createStore, useStore } from './store.ts';

interface Toast {
  id: number;
  text: string;
  bad: boolean;
  action?: { label: string; run: () => void };
}

const store = createStore<{ toasts: Toast[] }>({ toasts: [] });
let lastId = 0;

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
  setTimeout(() => dismissToast(id), durationMs);
  return id;
}

export const showError = (error: unknown): number =>
  showToast(error instanceof Error ? error.message : String(error), { bad: true, durationMs: 8000 });

export function Toasts() {
  const toasts = useStore(store, (state) => state.toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {toasts.map((toast) => (
        <div key={toast.id} className={toast.bad ? 'toast bad' : 'toast'}>
          <span>{toast.text}</span>
          {toast.action && (
            <button
              type="button"
              onClick={() => {
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
  );
}
