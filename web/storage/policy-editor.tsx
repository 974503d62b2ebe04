/** Editor of a bucket policy. It checks the text while it is written. */
import { useState } from 'react';
import type { Policy } from '../../workers/identity/domain/policy.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { UnsavedNote, useUnsaved } from '../shared/unsaved.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { readPolicy, writePolicy } from './bucket-documents.ts';
import { ACTIONS, checkPolicy, TEMPLATES, templateOf, tryPolicy } from './policy-check.ts';
import { type Key, toOwner } from './s3.ts';

const t = storageTexts.settings;

function Checker({ policy, bucket }: { policy: Policy; bucket: string }) {
  const [user, setUser] = useState('');
  const [action, setAction] = useState('s3:GetObject');
  const [name, setName] = useState('photo.jpg');
  const verdict = tryPolicy(policy, bucket, { userId: user.trim() || null, action, name });
  const isOnObject = ACTIONS.some(([one, isOn]) => one === action && isOn);
  return (
    <fieldset className="checker stack">
      <legend>{t.checker}</legend>
      <div className="form-grid">
        <label className="field">
          <span>{t.who}</span>
          <input
            value={user}
            placeholder={t.whoAnyone}
            title={t.whoHint}
            onInput={(event) => setUser(event.currentTarget.value)}
          />
        </label>
        <label className="field">
          <span>{t.what}</span>
          <select value={action} onChange={(event) => setAction(event.target.value)}>
            {ACTIONS.map(([one]) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        {isOnObject && (
          <label className="field">
            <span>{t.onWhat}</span>
            <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
          </label>
        )}
      </div>
      <p role="status" className={verdict === 'deny' ? 'danger-text' : verdict === 'allow' ? 'good-text' : 'muted'}>
        {t.verdicts[verdict]}
      </p>
    </fieldset>
  );
}

export function PolicyEditor({ accessKey, bucket }: { accessKey: Key; bucket: string }) {
  const { value, error, reload } = useLoaded(() => readPolicy(accessKey, bucket), [accessKey, bucket]);
  const unsaved = useUnsaved(`${toOwner(accessKey)}.policy.${bucket}`, value ?? '');
  const text = unsaved.value;
  const check = text.trim() === '' ? null : checkPolicy(text, bucket);
  const save = (next: string, done: string) =>
    writePolicy(accessKey, bucket, next).then(() => {
      unsaved.forget();
      showToast(done);
      reload();
    }, showError);
  return (
    <section className="card stack" aria-label={t.policy}>
      <h2>{t.policy}</h2>
      <p className="muted small">{t.policyAbout}</p>
      <div className="row wrap small">
        <span className="muted">{t.templates}</span>
        {TEMPLATES.map((name) => (
          <button
            key={name}
            type="button"
            className="small"
            disabled={value === null}
            onClick={() => unsaved.set(templateOf(name, bucket))}
          >
            {t[name]}
          </button>
        ))}
      </div>
      {error && <p className="error-box">{error}</p>}
      <textarea
        className="mono policy-text"
        aria-label={t.policyText}
        // Disabled until the stored policy is loaded. Otherwise the user could replace it without having seen it.
        disabled={value === null}
        spellCheck={false}
        rows={Math.min(24, Math.max(8, text.split('\n').length))}
        value={text}
        onInput={(event) => unsaved.set(event.currentTarget.value)}
      />
      {check && (
        <p role="status" className={check.problem === null ? 'good-text' : 'danger-text'}>
          {check.problem ?? t.valid} {check.isPublic && <strong className="warning-text">{t.isPublic}</strong>}
        </p>
      )}
      {check?.policy && <Checker policy={check.policy} bucket={bucket} />}
      {unsaved.isKept && value !== null && text !== value && <UnsavedNote onDiscard={unsaved.forget} />}
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={check === null || check.problem !== null || text === value}
          onClick={() => void save(text, storageTexts.saved)}
        >
          {t.savePolicy}
        </button>
        {value && (
          <button type="button" className="danger" onClick={() => void save('', t.policyDeleted)}>
            {t.deletePolicy}
          </button>
        )}
      </div>
    </section>
  );
}
