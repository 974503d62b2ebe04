/** An address field: recipients are chips, and names are completed from the contacts. */
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { Avatar } from '../../shared/avatar.tsx';
import { Icon } from '../../shared/icons.tsx';
import { fill } from '../../shared/texts/index.ts';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { formatAddress, parseAddresses, splitAddresses } from '../model/addresses.ts';
import { knownContacts } from '../model/known-contacts.ts';
import type { SavedContact } from '../model/settings-api.ts';

const { window: t } = mailComposeTexts;
const SUGGESTIONS_MAX = 6;

/**
 * Splits typed text at its last separator outside quotes. Returns the finished recipients (`done`) and the rest, which is still
 * being typed.
 */
export function splitTyped(text: string): { done: string[]; rest: string } {
  let isQuoted = false;
  let end = 0;
  for (const [at, char] of [...text].entries()) {
    if (char === '"') isQuoted = !isQuoted;
    if (!isQuoted && (char === ',' || char === ';' || char === '\n')) end = at + 1;
  }
  const chars = [...text];
  return { done: splitAddresses(chars.slice(0, end).join('')), rest: chars.slice(end).join('').trimStart() };
}

function Chip({ text, onRemove, onEdit }: { text: string; onRemove: () => void; onEdit: () => void }) {
  const [address] = parseAddresses(text).addresses;
  const name = address?.name || address?.email || text;
  return (
    <li className={address ? 'chip' : 'chip bad'} data-tip={address ? address.email : t.invalid}>
      {address ? <Avatar name={name} id={address.email} /> : <Icon name="junk" size={14} />}
      <button type="button" className="quiet chip-name ellipsis" tabIndex={-1} onClick={onEdit}>
        {name}
        {!address && <span className="visually-hidden"> ({t.invalid})</span>}
      </button>
      <button
        type="button"
        className="quiet chip-remove"
        tabIndex={-1}
        aria-label={fill(t.remove, { name })}
        onClick={onRemove}
      >
        <Icon name="close" size={14} />
      </button>
    </li>
  );
}

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  isFirst?: boolean;
  /** Name by which a key of the window finds the field. */
  name?: string;
}

export function Recipients({ label, value, onChange, isFirst = false, name }: Props) {
  const [known, setKnown] = useState<SavedContact[]>([]);
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  /** Text of the recipient that is still being typed. It is also the last part of `value`. */
  const [typed, setTyped] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => {
    knownContacts().then(setKnown);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs only when the window opens
  useLayoutEffect(() => {
    if (isFirst && value === '') input.current?.focus();
  }, []);
  const all = splitAddresses(value);
  const chips = typed.trim() === '' ? all : all.slice(0, -1);
  const set = (next: readonly string[], rest: string) => {
    setTyped(rest);
    onChange([...next, rest.trim()].filter(Boolean).join(', '));
  };
  const words = typed.trim().toLowerCase();
  const taken = new Set(chips.flatMap((chip) => parseAddresses(chip).addresses.map((one) => one.email.toLowerCase())));
  const found =
    words === ''
      ? []
      : known
          .filter((one) => !taken.has(one.email.toLowerCase()))
          .filter((one) => `${one.name} ${one.email}`.toLowerCase().includes(words))
          .slice(0, SUGGESTIONS_MAX);
  const isShown = isOpen && found.length > 0;
  const choose = (contact: SavedContact) => {
    set([...chips, formatAddress(contact)], '');
    setOpen(false);
    input.current?.focus();
  };
  const edit = (at: number) => {
    set([...chips.toSpliced(at, 1), ...(typed.trim() ? [typed.trim()] : [])], chips[at] ?? '');
    input.current?.focus();
  };
  const onSuggestionKey = (event: KeyboardEvent): boolean => {
    const contact = found[chosen];
    if (!isShown || event.ctrlKey || event.metaKey) return false;
    if (event.key === 'ArrowDown') setChosen((chosen + 1) % found.length);
    else if (event.key === 'ArrowUp') setChosen((chosen + found.length - 1) % found.length);
    else if ((event.key === 'Enter' || event.key === 'Tab') && contact) choose(contact);
    else if (event.key === 'Escape') setOpen(false);
    else return false;
    return true;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (onSuggestionKey(event)) event.stopPropagation();
    else if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey && words !== '') set(all, '');
    else if (event.key === 'Backspace' && typed === '' && chips.length > 0) edit(chips.length - 1);
    else return;
    event.preventDefault();
  };
  return (
    <div className="recipients">
      <div className="compose-line">
        <label htmlFor={`${id}-field`}>{label}</label>
        <ul className="chips" aria-label={fill(t.recipients, { field: label })}>
          {chips.map((chip, at) => (
            <Chip
              // biome-ignore lint/suspicious/noArrayIndexKey: an address may be there twice
              key={`${at} ${chip}`}
              text={chip}
              onEdit={() => edit(at)}
              onRemove={() => set(chips.toSpliced(at, 1), typed)}
            />
          ))}
          <li className="chip-field">
            <input
              id={`${id}-field`}
              ref={input}
              data-recipients={name}
              dir="auto"
              value={typed}
              role="combobox"
              aria-expanded={isShown}
              aria-controls={id}
              aria-autocomplete="list"
              aria-activedescendant={isShown ? `${id}-${chosen}` : undefined}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => {
                const { done, rest } = splitTyped(event.target.value);
                set([...chips, ...done], rest);
                setOpen(true);
                setChosen(0);
              }}
              onKeyDown={onKeyDown}
              onBlur={() => {
                setOpen(false);
                setTyped('');
              }}
            />
          </li>
        </ul>
      </div>
      <div className="suggestions" id={id} role="listbox" aria-label={t.contacts} hidden={!isShown}>
        {found.map((contact, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys of its list
          <div
            key={contact.email}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(contact)}
          >
            <Avatar name={contact.name || contact.email} id={contact.email} />
            <span className="grow ellipsis">
              {contact.name || contact.email} <span className="muted small">{contact.email}</span>
            </span>
          </div>
        ))}
      </div>
    </div>
  );
}
