/** Shows how to configure programs to use the bucket. */
import { useState } from 'react';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import type { Key } from './s3.ts';
import { Snippet } from './snippet.tsx';
import { snippetOf, TOOLS } from './snippets.ts';

const t = storageTexts.connect;

export function Connect({ accessKey, bucket }: { accessKey: Key; bucket: string }) {
  const [isSecretShown, setSecretShown] = useState(false);
  const facts = [
    [t.endpoint, accessKey.endpoint],
    [t.region, 'us-east-1'],
    [t.accessKey, accessKey.accessKeyId],
  ];
  return (
    <section className="bucket-page stack-large" aria-label={t.title}>
      <div className="card stack">
        <p>{fill(t.about, { bucket })}</p>
        <dl className="facts">
          {facts.map(([term, value]) => (
            <div key={term}>
              <dt>{term}</dt>
              <dd className="mono">{value}</dd>
            </div>
          ))}
        </dl>
        <label className="check">
          <input type="checkbox" checked={isSecretShown} onChange={(event) => setSecretShown(event.target.checked)} />
          {t.showSecret} <span className="muted small">{t.withSecret}</span>
        </label>
      </div>
      {TOOLS.map((tool) => (
        <section key={tool} className="stack" aria-label={t.tools[tool]}>
          <h2>{t.tools[tool]}</h2>
          <Snippet
            accessKey={accessKey}
            text={snippetOf(tool, accessKey, bucket)}
            label={t.tools[tool]}
            isSecretShown={isSecretShown}
          />
        </section>
      ))}
    </section>
  );
}
