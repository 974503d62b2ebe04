/** What a new password ended, and what could still lead mail or the account to somebody else. It is shown before any mail. */
import { useEffect } from 'react';
import { callJson } from '../../shared/api.ts';
import { ConfirmationDialog } from '../../shared/confirmation.tsx';
import { formatDay } from '../../shared/format.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { resumeSession } from '../model/session.ts';
import './security-review.css';

const { review: t } = mailSettingsTexts;
const PATH = '/v1/me/security-review';

interface Review {
  ended: { kind: keyof typeof t.kinds; name: string; created_at: string }[];
  open: { kind: keyof typeof t.kinds; name: string; remove: string }[];
}

const finish = () => callJson(`${PATH}/done`, { method: 'POST' }).then(resumeSession, showError);

function Ended({ ended }: Pick<Review, 'ended'>) {
  if (ended.length === 0) return null;
  return (
    <section className="stack" aria-label={t.ended}>
      <h2>{t.ended}</h2>
      <p className="muted small">{t.endedText}</p>
      <ul className="plain-list">
        {ended.map(({ kind, name, created_at }) => (
          <li key={`${kind} ${name} ${created_at}`} className="row wrap">
            <span className="badge">{t.kinds[kind]}</span>
            <span className="grow named" translate="no">
              {name}
            </span>
            <span className="muted small">{formatDay(created_at)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Open({ open, onRemoved }: Pick<Review, 'open'> & { onRemoved: () => void }) {
  if (open.length === 0) return null;
  const remove = ({ name, remove: path }: Review['open'][number]) =>
    callJson(path, { method: 'DELETE' }).then(() => {
      showToast(fill(t.removed, { name }));
      onRemoved();
    }, showError);
  return (
    <section className="stack" aria-label={t.open}>
      <h2>{t.open}</h2>
      <p className="muted small">{t.openText}</p>
      <ul className="plain-list">
        {open.map((one) => (
          <li key={`${one.kind} ${one.name}`} className="row wrap">
            <span className="badge">{t.kinds[one.kind]}</span>
            <span className="grow named" translate="no">
              {one.name}
            </span>
            <button type="button" className="danger" onClick={() => void remove(one)}>
              {t.remove}
              <span className="visually-hidden" translate="no">
                {' '}
                {one.name}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function SecurityReview() {
  const { value, error, reload } = useLoaded(() => callJson<Review>(PATH), []);
  const isEmpty = value !== null && value.ended.length === 0 && value.open.length === 0;
  useEffect(() => {
    if (isEmpty) void finish();
  }, [isEmpty]);
  return (
    <div className="card stack security-review">
      <h1>{t.title}</h1>
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      {value && <Ended ended={value.ended} />}
      {value && <Open open={value.open} onRemoved={reload} />}
      <div>
        <button type="button" className="primary" onClick={() => void finish()}>
          {t.toMail}
        </button>
      </div>
      <ConfirmationDialog />
    </div>
  );
}
