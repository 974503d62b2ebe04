/** The CORS rules of a bucket. */
import { useEffect, useState } from 'react';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { type CorsRule, readCors, writeCors } from './bucket-documents.ts';
import type { Key } from './s3.ts';

const t = storageTexts.settings;
/** Those that S3 allows in rules. */
const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'];
const NEW_RULE: CorsRule = { origins: [], methods: ['GET'], headers: ['*'], expose: ['ETag'], maxAgeSeconds: '3600' };

const toWords = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** The text as it is typed. The words are read when the field is left. */
function Words({
  label,
  hint,
  words,
  onChange,
}: {
  label: string;
  hint?: string;
  words: readonly string[];
  onChange: (words: string[]) => void;
}) {
  return (
    <label className="field">
      <span>{label}</span>
      <input
        defaultValue={words.join(' ')}
        placeholder={hint}
        spellCheck={false}
        onInput={(event) => onChange(toWords(event.currentTarget.value))}
      />
    </label>
  );
}

interface RuleProps {
  number: string;
  rule: CorsRule;
  onChange: (part: Partial<CorsRule>) => void;
  onRemove: () => void;
}

function RuleForm({ number, rule, onChange, onRemove }: RuleProps) {
  const toggle = (method: string) =>
    onChange({
      methods: METHODS.filter((one) => (one === method ? !rule.methods.includes(one) : rule.methods.includes(one))),
    });
  return (
    <fieldset className="cors-rule stack">
      <legend>{fill(t.rule, { number })}</legend>
      <Words
        label={t.origins}
        hint={t.originsHint}
        words={rule.origins}
        onChange={(origins) => onChange({ origins })}
      />
      <fieldset className="row wrap">
        <legend>{t.methods}</legend>
        {METHODS.map((method) => (
          <label key={method} className="check">
            <input type="checkbox" checked={rule.methods.includes(method)} onChange={() => toggle(method)} />
            {method}
          </label>
        ))}
      </fieldset>
      <div className="form-grid">
        <Words label={t.headers} words={rule.headers} onChange={(headers) => onChange({ headers })} />
        <Words label={t.expose} words={rule.expose} onChange={(expose) => onChange({ expose })} />
        <label className="field">
          <span>{t.maxAge}</span>
          <input
            inputMode="numeric"
            value={rule.maxAgeSeconds}
            onInput={(event) => onChange({ maxAgeSeconds: event.currentTarget.value.trim() })}
          />
        </label>
      </div>
      <div>
        <button type="button" className="quiet small" onClick={onRemove}>
          {fill(t.removeRule, { number })}
        </button>
      </div>
    </fieldset>
  );
}

/** A rule with an identity, so that fields stay with their rule when another one is removed. */
interface Row {
  id: string;
  rule: CorsRule;
}
const toRow = (rule: CorsRule): Row => ({ id: crypto.randomUUID(), rule });

export function CorsEditor({ accessKey, bucket }: { accessKey: Key; bucket: string }) {
  const { value, error, reload } = useLoaded(() => readCors(accessKey, bucket), [accessKey, bucket]);
  const [rows, setRows] = useState<Row[]>([]);
  const [isChanged, setChanged] = useState(false);
  useEffect(() => {
    setRows((value ?? []).map(toRow));
    setChanged(false);
  }, [value]);
  const edit = (next: Row[]) => {
    setRows(next);
    setChanged(true);
  };
  const save = () =>
    writeCors(
      accessKey,
      bucket,
      rows.map(({ rule }) => rule),
    ).then(() => {
      showToast(storageTexts.saved);
      reload();
    }, showError);
  return (
    <section className="card stack" aria-label={t.cors}>
      <h2>{t.cors}</h2>
      <p className="muted small">{t.corsAbout}</p>
      {error && <p className="error-box">{error}</p>}
      {value && rows.length === 0 && <p className="muted">{t.corsNone}</p>}
      {rows.map(({ id, rule }, index) => (
        <RuleForm
          key={id}
          number={String(index + 1)}
          rule={rule}
          onChange={(part) => edit(rows.map((row) => (row.id === id ? { id, rule: { ...row.rule, ...part } } : row)))}
          onRemove={() => edit(rows.filter((row) => row.id !== id))}
        />
      ))}
      <div className="row">
        <button type="button" disabled={!value} onClick={() => edit([...rows, toRow(NEW_RULE)])}>
          {t.addRule}
        </button>
        <button type="button" className="primary" disabled={!isChanged} onClick={() => void save()}>
          {storageTexts.save}
          <span className="visually-hidden"> {t.cors}</span>
        </button>
      </div>
    </section>
  );
}
