/** A card that edits the rules of a bucket: CORS, lifecycle or events. All rules of the card are saved together. */
import { type ReactNode, useEffect, useState } from 'react';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import type { Key } from './s3.ts';

const t = storageTexts.settings;

/** A rule with an identity, so that fields stay with their rule when another one is removed. */
interface Row<Rule> {
  id: string;
  rule: Rule;
}
const toRow = <Rule,>(rule: Rule): Row<Rule> => ({ id: crypto.randomUUID(), rule });

interface Props<Rule> {
  accessKey: Key;
  bucket: string;
  texts: { readonly title: string; readonly about: string; readonly none: string };
  read: (key: Key, bucket: string) => Promise<Rule[]>;
  write: (key: Key, bucket: string, rules: readonly Rule[]) => Promise<unknown>;
  newRule: () => Rule;
  /** Renders the fields of a rule. */
  fields: (rule: Rule, onChange: (part: Partial<Rule>) => void) => ReactNode;
  /** Content shown below the rules. */
  children?: ReactNode;
}

export function RuleEditor<Rule>({ accessKey, bucket, texts, read, write, newRule, fields, children }: Props<Rule>) {
  const { value, error, reload } = useLoaded(() => read(accessKey, bucket), [accessKey, bucket]);
  const [rows, setRows] = useState<Row<Rule>[]>([]);
  const [isChanged, setChanged] = useState(false);
  useEffect(() => {
    setRows((value ?? []).map(toRow));
    setChanged(false);
  }, [value]);
  const edit = (next: Row<Rule>[]) => {
    setRows(next);
    setChanged(true);
  };
  const change = (id: string, part: Partial<Rule>) =>
    edit(rows.map((row) => (row.id === id ? { id, rule: { ...row.rule, ...part } } : row)));
  const save = () =>
    write(
      accessKey,
      bucket,
      rows.map(({ rule }) => rule),
    ).then(() => {
      showToast(storageTexts.saved);
      reload();
    }, showError);
  return (
    <section className="card stack" aria-label={texts.title}>
      <h2>{texts.title}</h2>
      <p className="muted small">{texts.about}</p>
      {error && <p className="error-box">{error}</p>}
      {value && rows.length === 0 && <p className="muted">{texts.none}</p>}
      {rows.map(({ id, rule }, index) => {
        const number = String(index + 1);
        return (
          <fieldset key={id} className="rule stack">
            <legend>{fill(t.rule, { number })}</legend>
            {fields(rule, (part) => change(id, part))}
            <div>
              <button type="button" className="quiet small" onClick={() => edit(rows.filter((row) => row.id !== id))}>
                {fill(t.removeRule, { number })}
              </button>
            </div>
          </fieldset>
        );
      })}
      {children}
      <div className="row">
        <button type="button" disabled={!value} onClick={() => edit([...rows, toRow(newRule())])}>
          {t.addRule}
        </button>
        <button type="button" className="primary" disabled={!isChanged} onClick={() => void save()}>
          {storageTexts.save}
          <span className="visually-hidden"> {texts.title}</span>
        </button>
      </div>
    </section>
  );
}

interface FieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: string;
  kind?: 'text' | 'number' | 'date' | 'url';
}

export function Field({ label, value, onChange, hint, kind = 'text' }: FieldProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <input
        type={kind}
        value={value}
        placeholder={hint}
        spellCheck={false}
        {...(kind === 'number' ? { min: 1, step: 1, inputMode: 'numeric' as const } : {})}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

interface ChoiceProps<Value extends string> {
  label: string;
  value: Value;
  /** Labels of the options, by value. */
  texts: Readonly<Record<Value, string>>;
  onChange: (value: Value) => void;
}

export function Choice<Value extends string>({ label, value, texts, onChange }: ChoiceProps<Value>) {
  return (
    <label className="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value as Value)}>
        {(Object.entries(texts) as [Value, string][]).map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Shows check boxes. @param values their labels, by value and in their order. */
export function Checks<Value extends string>({
  label,
  chosen,
  texts,
  onChange,
}: {
  label: string;
  chosen: readonly Value[];
  texts: Readonly<Record<Value, string>>;
  onChange: (chosen: Value[]) => void;
}) {
  const all = Object.keys(texts) as Value[];
  const toggle = (value: Value) =>
    onChange(all.filter((one) => (one === value ? !chosen.includes(one) : chosen.includes(one))));
  return (
    <fieldset className="row wrap">
      <legend>{label}</legend>
      {all.map((value) => (
        <label key={value} className="check">
          <input type="checkbox" checked={chosen.includes(value)} onChange={() => toggle(value)} />
          {texts[value]}
        </label>
      ))}
    </fieldset>
  );
}
