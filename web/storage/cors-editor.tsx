/** The CORS rules of a bucket. */
import { storageTexts } from '../shared/texts/storage.ts';
import { type CorsRule, readCors, writeCors } from './bucket-documents.ts';
import { Checks, Field, RuleEditor } from './rule-editor.tsx';
import type { Key } from './s3.ts';

const t = storageTexts.settings;
/** Methods that S3 allows in rules. */
const METHODS = { GET: 'GET', HEAD: 'HEAD', PUT: 'PUT', POST: 'POST', DELETE: 'DELETE' };
const NEW_RULE: CorsRule = { origins: [], methods: ['GET'], headers: ['*'], expose: ['ETag'], maxAgeSeconds: '3600' };

const toWords = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** A field for several words. It keeps the typed text, and parses the words at each change. */
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

export function CorsEditor({ accessKey, bucket }: { accessKey: Key; bucket: string }) {
  return (
    <RuleEditor<CorsRule>
      accessKey={accessKey}
      bucket={bucket}
      texts={{ title: t.cors, about: t.corsAbout, none: t.corsNone }}
      read={readCors}
      write={writeCors}
      newRule={() => NEW_RULE}
      fields={(rule, onChange) => (
        <>
          <Words
            label={t.origins}
            hint={t.originsHint}
            words={rule.origins}
            onChange={(origins) => onChange({ origins })}
          />
          <Checks
            label={t.methods}
            chosen={rule.methods as (keyof typeof METHODS)[]}
            texts={METHODS}
            onChange={(methods) => onChange({ methods })}
          />
          <div className="form-grid">
            <Words label={t.headers} words={rule.headers} onChange={(headers) => onChange({ headers })} />
            <Words label={t.expose} words={rule.expose} onChange={(expose) => onChange({ expose })} />
            <Field
              label={t.maxAge}
              kind="number"
              value={rule.maxAgeSeconds}
              onChange={(maxAgeSeconds) => onChange({ maxAgeSeconds })}
            />
          </div>
        </>
      )}
    />
  );
}
