/** An address field that completes names from the contacts. */
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { formatAddress } from '../model/addresses.ts';
import { knownContacts } from '../model/known-contacts.ts';
import type { SavedContact } from '../model/settings-api.ts';

const SUGGESTIONS_MAX = 6;

/** The address being typed: the text after the last comma or semicolon. */
const lastPart = (text: string) => text.slice(Math.max(text.lastIndexOf(','), text.lastIndexOf(';')) + 1).trim();

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  isFirst?: boolean;
}

export function Recipients({ label, value, onChange, isFirst = false }: Props) {
  const [known, setKnown] = useState<SavedContact[]>([]);
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  useEffect(() => {
    knownContacts().then(setKnown);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs only when the window opens
  useLayoutEffect(() => {
    if (isFirst && value === '') input.current?.focus();
  }, []);
  const typed = lastPart(value).toLowerCase();
  const found =
    typed.length > 0
      ? known.filter((one) => `${one.name} ${one.email}`.toLowerCase().includes(typed)).slice(0, SUGGESTIONS_MAX)
      : [];
  const isShown = isOpen && found.length > 0;
  const choose = (contact: SavedContact) => {
    const before = value.slice(0, value.length - lastPart(value).length);
    onChange(`${before}${formatAddress(contact)}, `);
    setOpen(false);
    input.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isShown) return;
    const contact = found[chosen];
    if (event.key === 'ArrowDown') setChosen((chosen + 1) % found.length);
    else if (event.key === 'ArrowUp') setChosen((chosen + found.length - 1) % found.length);
    else if ((event.key === 'Enter' || event.key === 'Tab') && contact) choose(contact);
    else if (event.key === 'Escape') setOpen(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="recipients">
      <label className="compose-line">
        <span>{label}</span>
        <input
          ref={input}
          dir="auto"
          value={value}
          role="combobox"
          aria-expanded={isShown}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={isShown ? `${listId}-${chosen}` : undefined}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            onChange(event.target.value);
            setOpen(true);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
          onBlur={() => setOpen(false)}
        />
      </label>
      <div className="suggestions" id={listId} role="listbox" aria-label="Contacts" hidden={!isShown}>
        {found.map((contact, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys of its list
          <div
            key={contact.email}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(contact)}
          >
            {contact.name || contact.email} <span className="muted small">{contact.email}</span>
          </div>
        ))}
      </div>
    </div>
  );
}
