/** Buttons at the end of a form: save, other ways to save, cancel. */
import type { ReactNode } from 'react';

export function FormButtons({ onCancel, children }: { onCancel: () => void; children?: ReactNode }) {
  return (
    <div className="row wrap">
      <button type="submit" className="primary">
        Save
      </button>
      {children}
      <button type="button" className="quiet" onClick={onCancel}>
        Cancel
      </button>
    </div>
  );
}
