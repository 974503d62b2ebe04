/** The lifecycle rules of a bucket. */
import { formatBytes } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { type LifecycleRule, newLifecycleRule, readLifecycle, writeLifecycle } from './bucket-rules.ts';
import { Choice, Field, RuleEditor } from './rule-editor.tsx';
import type { Key } from './s3.ts';

const t = storageTexts.lifecycle;

/** Describes a lifecycle rule in sentences. */
function describe(rule: LifecycleRule): string {
  if (!rule.isEnabled) return t.isOff;
  const days = (text: string) => fill(text === '1' ? t.oneDay : t.manyDays, { count: text });
  const sentences: string[] = [];
  if (rule.expiration === 'days' && rule.days) sentences.push(fill(t.saysDays, { time: days(rule.days) }));
  if (rule.expiration === 'date' && rule.date) sentences.push(fill(t.saysDate, { date: rule.date }));
  if (rule.expiration === 'markers') sentences.push(t.saysMarkers);
  if (rule.noncurrentDays) {
    const keep = rule.newerVersions && fill(t.saysKeep, { count: rule.newerVersions });
    sentences.push(fill(t.saysNoncurrent, { time: days(rule.noncurrentDays), keep }));
  }
  if (rule.abortDays) sentences.push(fill(t.saysAbort, { time: days(rule.abortDays) }));
  if (sentences.length === 0) return t.saysNothing;
  const conditions = [
    rule.prefix && fill(t.inPrefix, { prefix: rule.prefix }),
    rule.tags.trim() && fill(t.withTags, { tags: rule.tags.trim().split('\n').join(', ') }),
    rule.sizeAbove && fill(t.above, { size: formatBytes(Number(rule.sizeAbove)) }),
    rule.sizeBelow && fill(t.below, { size: formatBytes(Number(rule.sizeBelow)) }),
  ].filter(Boolean);
  return `${conditions.length > 0 ? conditions.join(', ') : t.wholeBucket}: ${sentences.join('; ')}.`;
}

type OnChange = (part: Partial<LifecycleRule>) => void;

function Conditions({ rule, onChange }: { rule: LifecycleRule; onChange: OnChange }) {
  return (
    <details open={Boolean(rule.tags || rule.sizeAbove || rule.sizeBelow)}>
      <summary>{t.moreConditions}</summary>
      <div className="form-grid">
        <label className="field">
          <span>{t.tags}</span>
          <textarea
            rows={2}
            value={rule.tags}
            placeholder={t.tagsHint}
            spellCheck={false}
            onInput={(event) => onChange({ tags: event.currentTarget.value })}
          />
        </label>
        <Field
          kind="number"
          label={t.sizeAbove}
          value={rule.sizeAbove}
          onChange={(sizeAbove) => onChange({ sizeAbove })}
        />
        <Field
          kind="number"
          label={t.sizeBelow}
          value={rule.sizeBelow}
          onChange={(sizeBelow) => onChange({ sizeBelow })}
        />
      </div>
    </details>
  );
}

function RuleFields({ rule, onChange }: { rule: LifecycleRule; onChange: OnChange }) {
  return (
    <>
      <p className="small rule-says">{describe(rule)}</p>
      <div className="form-grid">
        <Field label={t.prefix} hint={t.prefixHint} value={rule.prefix} onChange={(prefix) => onChange({ prefix })} />
        <Choice
          label={t.expiration}
          value={rule.expiration}
          texts={t.expirations}
          onChange={(expiration) => onChange({ expiration })}
        />
        {rule.expiration === 'days' && (
          <Field kind="number" label={t.days} value={rule.days} onChange={(days) => onChange({ days })} />
        )}
        {rule.expiration === 'date' && (
          <Field kind="date" label={t.date} value={rule.date} onChange={(date) => onChange({ date })} />
        )}
      </div>
      <div className="form-grid">
        <Field
          kind="number"
          label={t.noncurrentDays}
          value={rule.noncurrentDays}
          onChange={(noncurrentDays) => onChange({ noncurrentDays })}
        />
        <Field
          kind="number"
          label={t.newerVersions}
          value={rule.newerVersions}
          onChange={(newerVersions) => onChange({ newerVersions })}
        />
        <Field
          kind="number"
          label={t.abortDays}
          value={rule.abortDays}
          onChange={(abortDays) => onChange({ abortDays })}
        />
      </div>
      <Conditions rule={rule} onChange={onChange} />
      <label className="check">
        <input
          type="checkbox"
          checked={rule.isEnabled}
          onChange={(event) => onChange({ isEnabled: event.target.checked })}
        />
        {t.enabled}
      </label>
    </>
  );
}

export function LifecycleEditor({ accessKey, bucket }: { accessKey: Key; bucket: string }) {
  return (
    <RuleEditor<LifecycleRule>
      accessKey={accessKey}
      bucket={bucket}
      texts={t}
      read={readLifecycle}
      write={writeLifecycle}
      newRule={newLifecycleRule}
      fields={(rule, onChange) => <RuleFields rule={rule} onChange={onChange} />}
    />
  );
}
