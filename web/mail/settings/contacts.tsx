/** Contacts: saved ones and recipients of sent mail. The user can search, add, change and delete them. */
import { type FormEvent, useEffect, useState } from 'react';
import { callJson, describeError, type Page } from '../../shared/api.ts';
import { focusOnAppearing } from '../../shared/focus.ts';
import { FormButtons } from '../../shared/form-buttons.tsx';
import { formatWhen } from '../../shared/format.ts';
import { fill, plural } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { startWriting } from '../compose/compose-state.ts';
import { formatAddress } from '../model/addresses.ts';
import { forgetKnownContacts } from '../model/known-contacts.ts';
import type { SavedContact } from '../model/settings-api.ts';

const t = mailSettingsTexts.contacts;

const path = (contact: SavedContact) => `/v1/contacts/${encodeURIComponent(contact.id)}`;
const toQuery = (q: string, cursor: string | null) =>
  `/v1/contacts?limit=100&q=${encodeURIComponent(q)}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`;

function ContactForm({ contact, onDone }: { contact: SavedContact | null; onDone: () => void }) {
  const [error, setError] = useState<string | null>(null);
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name)).trim();
    const body = { name: text('name'), email: text('email'), note: text('note') };
    const saved = contact ? callJson(path(contact), { method: 'PUT', body }) : callJson('/v1/contacts', { body });
    saved.then(
      () => {
        showToast(t.contactSaved);
        onDone();
      },
      (cause: unknown) => setError(describeError(cause)),
    );
  };
  return (
    <form className="card stack" onSubmit={save} aria-label={contact ? t.changeContact : t.newContact}>
      <label className="field">
        <span>{t.name}</span>
        <input name="name" maxLength={200} defaultValue={contact?.name} ref={focusOnAppearing} autoComplete="off" />
      </label>
      <label className="field">
        <span>{t.address}</span>
        <input name="email" type="email" required maxLength={254} defaultValue={contact?.email} autoComplete="off" />
      </label>
      <label className="field">
        <span>{t.note}</span>
        <textarea name="note" maxLength={2000} defaultValue={contact?.note} />
      </label>
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      <FormButtons onCancel={onDone} />
    </form>
  );
}

/** Hook with the first page of contacts and the pages loaded after it. */
function useContacts(q: string) {
  const first = useLoaded(() => callJson<Page<SavedContact>>(toQuery(q, null)), [q]);
  const [more, setMore] = useState<Page<SavedContact> | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new first page makes further pages outdated
  useEffect(() => setMore(null), [first.value]);
  const cursor = (more ?? first.value)?.next_cursor ?? null;
  const loadMore = () => {
    callJson<Page<SavedContact>>(toQuery(q, cursor)).then(
      (page) => setMore((before) => ({ ...page, data: [...(before?.data ?? []), ...page.data] })),
      showError,
    );
  };
  return { ...first, contacts: [...(first.value?.data ?? []), ...(more?.data ?? [])], cursor, loadMore };
}

export function Contacts() {
  const [q, setQ] = useState('');
  const { value, contacts, cursor, loadMore, error, reload } = useContacts(q);
  const [editing, setEditing] = useState<SavedContact | 'new' | null>(null);
  const changed = () => {
    setEditing(null);
    forgetKnownContacts();
    reload();
  };
  const forget = (contact: SavedContact) => {
    if (!confirm(fill(t.confirmForget, { name: contact.name || contact.email }))) return;
    callJson(path(contact), { method: 'DELETE' }).then(changed, showError);
  };
  return (
    <div className="stack">
      <div className="row">
        <input
          type="search"
          aria-label={t.findContact}
          placeholder={t.findContact}
          value={q}
          onChange={(event) => setQ(event.target.value)}
        />
        <button type="button" className="primary" onClick={() => setEditing('new')}>
          {t.newContact}
        </button>
      </div>
      {editing && (
        <ContactForm
          key={editing === 'new' ? 'new' : editing.id}
          contact={editing === 'new' ? null : editing}
          onDone={changed}
        />
      )}
      {error && <p className="error-box">{error}</p>}
      {value && contacts.length === 0 && <p className="muted">{q ? t.noMatch : t.empty}</p>}
      <ul className="plain-list filter-list" aria-label={t.contacts}>
        {contacts.map((contact) => (
          <li key={contact.id}>
            <span className="grow contact">
              <strong>{contact.name || contact.email}</strong>
              <span className="muted small">
                {contact.name && `${contact.email} · `}
                {contact.sent_count > 0
                  ? fill(t.sent, {
                      sentCount: plural(mailSettingsTexts.counts.messages, contact.sent_count),
                      lastSentAt: formatWhen(contact.last_sent_at ?? ''),
                    })
                  : t.saved}
              </span>
              {contact.note && <span className="small">{contact.note}</span>}
            </span>
            <button type="button" className="quiet" onClick={() => startWriting({ to: `${formatAddress(contact)}, ` })}>
              {t.write}
              <span className="visually-hidden"> {fill(t.toName, { name: contact.name || contact.email })}</span>
            </button>
            <button type="button" className="quiet" onClick={() => setEditing(contact)}>
              {t.edit}
              <span className="visually-hidden"> {contact.name || contact.email}</span>
            </button>
            <button type="button" className="quiet" onClick={() => forget(contact)}>
              {t.forget}
              <span className="visually-hidden"> {contact.name || contact.email}</span>
            </button>
          </li>
        ))}
      </ul>
      {cursor !== null && (
        <button type="button" onClick={loadMore}>
          {t.more}
        </button>
      )}
    </div>
  );
}
