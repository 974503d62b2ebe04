/** Addresses to give away: one click makes one, one click ends it. */
import { type FormEvent, useEffect, useState } from 'react';
import { describeError } from '../../shared/api.ts';
import { formatDateTime } from '../../shared/format.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { changeMasked, loadMasked, type MaskedAddress, makeMasked, useMasked } from '../model/masked.ts';

const t = mailSettingsTexts.masked;

/** Copies an address. A browser that refuses only shows it. */
async function copy(email: string): Promise<void> {
  const isCopied = await navigator.clipboard.writeText(email).then(
    () => true,
    () => false,
  );
  showToast(fill(isCopied ? t.copied : t.made, { email }));
}

function Row({ one }: { one: MaskedAddress }) {
  const isEnded = one.state === 'deleted';
  const set = (state: 'enabled' | 'deleted') =>
    changeMasked(one.email, { state }).then(
      () => showToast(fill(state === 'deleted' ? t.ended : t.opened, { email: one.email })),
      showError,
    );
  const used = one.last_message_at ? fill(t.lastMail, { when: formatDateTime(one.last_message_at) }) : t.noMail;
  return (
    <li>
      <span className="grow">
        <span className={isEnded ? 'ellipsis muted' : 'ellipsis'}>{one.email}</span>
        <span className="muted small ellipsis" dir="auto">
          {[one.note || one.for_domain || t.noNote, used].join(' · ')}
        </span>
      </span>
      {isEnded && <span className="badge">{t.isEnded}</span>}
      {!isEnded && (
        <button type="button" className="quiet" onClick={() => void copy(one.email)}>
          {t.copy}
          <span className="visually-hidden"> {one.email}</span>
        </button>
      )}
      <button type="button" className="quiet" onClick={() => void set(isEnded ? 'enabled' : 'deleted')}>
        {isEnded ? t.open : t.end}
        <span className="visually-hidden"> {one.email}</span>
      </button>
    </li>
  );
}

export function MaskedAddresses() {
  const list = useMasked();
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    loadMasked().catch((cause: unknown) => setError(describeError(cause)));
  }, []);
  const make = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    makeMasked(String(new FormData(form).get('note')).trim()).then(({ email }) => {
      form.reset();
      return copy(email);
    }, showError);
  };
  return (
    <section className="card stack" aria-label={t.title}>
      <h2>{t.title}</h2>
      <p className="muted small">{t.text}</p>
      {error && <p className="error-box">{error}</p>}
      <form className="row" onSubmit={make}>
        <input name="note" maxLength={200} dir="auto" aria-label={t.note} placeholder={t.noteHint} />
        <button type="submit">{t.make}</button>
      </form>
      <ul className="plain-list filter-list">
        {list?.map((one) => (
          <Row key={one.email} one={one} />
        ))}
      </ul>
    </section>
  );
}
