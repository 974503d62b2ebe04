/** One topic of a settings page: description at the left, controls at the right. On a phone, the controls are below. */
import type { ReactNode } from 'react';

export function Setting({ title, text, children }: { title: string; text?: ReactNode; children: ReactNode }) {
  return (
    <section className="setting" aria-label={title}>
      <div className="setting-head">
        <h3>{title}</h3>
        {text && <p className="muted small">{text}</p>}
      </div>
      <div className="setting-body stack">{children}</div>
    </section>
  );
}
