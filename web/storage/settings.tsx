/** The tab Settings of a bucket. */
import { type FormEvent, useState } from 'react';
import { storageTexts } from '../shared/texts/storage.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { type Lock, type LockMode, readLock, writeLock } from './bucket-documents.ts';
import { CorsEditor } from './cors-editor.tsx';
import { EventEditor } from './event-editor.tsx';
import { LifecycleEditor } from './lifecycle-editor.tsx';
import { PolicyEditor } from './policy-editor.tsx';
import { QuotaCard } from './quota-card.tsx';
import { Choice } from './rule-editor.tsx';
import { getVersioning, type Key, putVersioning, type Versioning } from './s3.ts';

const t = storageTexts.settings;
const versioningTexts = (): Record<Versioning, string> => ({
  Enabled: t.versioningOn,
  Suspended: t.versioningSuspended,
  '': t.versioningOff,
});

const modes = () => ({ '': t.lockNone, GOVERNANCE: t.governance, COMPLIANCE: t.compliance });

interface Props {
  accessKey: Key;
  bucket: string;
}

function LockForm({ accessKey, bucket, lock, onSaved }: Props & { lock: Lock; onSaved: () => void }) {
  const [mode, setMode] = useState<LockMode | ''>(lock.retention?.mode ?? '');
  const [unit, setUnit] = useState(lock.retention?.unit ?? 'Days');
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const period = String(new FormData(event.currentTarget).get('period') ?? '');
    writeLock(accessKey, bucket, { retention: mode === '' ? null : { mode, period, unit } }).then(() => {
      showToast(storageTexts.saved);
      onSaved();
    }, showError);
  };
  return (
    <form className="stack" onSubmit={submit}>
      <div className="form-grid">
        <Choice label={t.lockMode} value={mode} texts={modes()} onChange={setMode} />
        {mode !== '' && (
          <>
            <label className="field">
              <span>{t.lockPeriod}</span>
              <input name="period" type="number" min={1} required defaultValue={lock.retention?.period ?? '30'} />
            </label>
            <Choice
              label={t.lockUnit}
              value={unit}
              texts={{ Days: t.lockDays, Years: t.lockYears }}
              onChange={setUnit}
            />
          </>
        )}
      </div>
      <div>
        <button type="submit" className="primary">
          {storageTexts.save}
          <span className="visually-hidden"> {t.lock}</span>
        </button>
      </div>
    </form>
  );
}

function LockSettings({ accessKey, bucket, versioning }: Props & { versioning: Versioning }) {
  const { value, error, isLoading, reload } = useLoaded(() => readLock(accessKey, bucket), [accessKey, bucket]);
  const turnOn = () => {
    if (confirm(t.lockConfirm)) writeLock(accessKey, bucket, { retention: null }).then(reload, showError);
  };
  return (
    <section className="card stack" aria-label={t.lock}>
      <h2>{t.lock}</h2>
      <p className="muted small">{t.lockAbout}</p>
      {error && <p className="error-box">{error}</p>}
      {value && <LockForm accessKey={accessKey} bucket={bucket} lock={value} onSaved={reload} />}
      {!isLoading && !error && value === null && (
        <div className="row wrap">
          <span className="grow">{versioning === 'Enabled' ? t.lockOff : t.lockNeedsVersions}</span>
          <button type="button" disabled={versioning !== 'Enabled'} onClick={turnOn}>
            {t.turnOnLock}
          </button>
        </div>
      )}
    </section>
  );
}

export function Settings({ accessKey, bucket }: Props) {
  const versioning = useLoaded(() => getVersioning(accessKey, bucket), [accessKey, bucket]);
  // State that the user chose. It is shown before the server has answered.
  const [chosen, setChosen] = useState<Versioning | null>(null);
  const state = chosen ?? versioning.value;
  const choose = (next: 'Enabled' | 'Suspended') => {
    setChosen(next);
    putVersioning(accessKey, bucket, next).then(versioning.reload, (error: unknown) => {
      setChosen(null);
      versioning.reload();
      showError(error);
    });
  };
  return (
    <section className="bucket-page stack-large" aria-label={storageTexts.tabs.settings}>
      <section className="card stack" aria-label={t.versioning}>
        <h2>{t.versioning}</h2>
        {versioning.error && <p className="error-box">{versioning.error}</p>}
        {state !== null && (
          <>
            <label className="check">
              <input
                type="checkbox"
                checked={state === 'Enabled'}
                onChange={(event) => choose(event.target.checked ? 'Enabled' : 'Suspended')}
              />
              {t.keepVersions}
            </label>
            <p className="muted" role="status">
              {versioningTexts()[state]}
            </p>
          </>
        )}
      </section>
      {/* Object Lock needs the present state of versioning: it is refused until the server has turned versioning on. */}
      <LockSettings accessKey={accessKey} bucket={bucket} versioning={versioning.value ?? ''} />
      <LifecycleEditor accessKey={accessKey} bucket={bucket} />
      <QuotaCard accessKey={accessKey} bucket={bucket} />
      <EventEditor accessKey={accessKey} bucket={bucket} />
      <CorsEditor accessKey={accessKey} bucket={bucket} />
      <PolicyEditor key={bucket} accessKey={accessKey} bucket={bucket} />
      <section className="card stack" aria-label={t.encryption}>
        <h2>{t.encryption}</h2>
        <p>{t.encryptionText}</p>
        <p className="muted small">{t.encryptionLimits}</p>
      </section>
    </section>
  );
}
