/** Buttons at the end of a form: save, other ways to save, cancel. */
import type { ReactNode } from 'react';
import { texts } from './texts/index.ts';

interface Props {
  onCancel: () => void;
  /** Label of the submit button; "Save" by default. */
  submit?: string;
  isDanger?: boolean;
  children?: ReactNode;
}

export function FormButtons({ onCancel, submit = texts.app.save, isDanger = false, children }: Props) {
  return (
    <div className="row wrap">
      <button type="submit" className={isDanger ? 'danger' : 'primary'}>
        {submit}
      </button>
      {children}
      <button type="button" className="quiet" onClick={onCancel}>
        {texts.app.cancel}
      </button>
    </div>
  );
}
