/** The event notifications of a bucket. */
import { useState } from 'react';
import { storageTexts } from '../shared/texts/storage.ts';
import { type EventRule, newEventRule, readEvents, writeEvents } from './bucket-rules.ts';
import { copyText } from './copy-text.ts';
import { Checks, Choice, Field, RuleEditor } from './rule-editor.tsx';
import type { Key } from './s3.ts';

const t = storageTexts.events;

function RuleFields({ rule, onChange }: { rule: EventRule; onChange: (part: Partial<EventRule>) => void }) {
  return (
    <>
      <div className="form-grid">
        <Choice label={t.target} value={rule.target} texts={t.targets} onChange={(target) => onChange({ target })} />
        {rule.target === 'webhook' && (
          <Field kind="url" label={t.url} hint={t.urlHint} value={rule.url} onChange={(url) => onChange({ url })} />
        )}
        <Field label={t.prefix} value={rule.prefix} onChange={(prefix) => onChange({ prefix })} />
        <Field label={t.suffix} hint={t.suffixHint} value={rule.suffix} onChange={(suffix) => onChange({ suffix })} />
      </div>
      <Checks label={t.when} chosen={rule.kinds} texts={t.kinds} onChange={(kinds) => onChange({ kinds })} />
    </>
  );
}

export function EventEditor({ accessKey, bucket }: { accessKey: Key; bucket: string }) {
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <RuleEditor<EventRule>
      accessKey={accessKey}
      bucket={bucket}
      texts={t}
      read={readEvents}
      write={async (...to) => setSecret(await writeEvents(...to))}
      newRule={newEventRule}
      fields={(rule, onChange) => <RuleFields rule={rule} onChange={onChange} />}
    >
      {secret && (
        <div className="rule stack" role="status">
          <p className="small">{t.secretAbout}</p>
          <div className="row">
            <code className="grow ellipsis">{secret}</code>
            <button type="button" className="small" onClick={() => void copyText(secret)}>
              {t.copySecret}
            </button>
          </div>
        </div>
      )}
    </RuleEditor>
  );
}
