/** One topic of a settings page: what it is at the left, its controls at the right. On a phone one below the other. */
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
