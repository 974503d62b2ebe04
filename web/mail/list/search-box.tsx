/** The search box. Suggests operators while the user types. */
import { type FormEvent, type KeyboardEvent, useEffect, useId, useMemo, useState } from 'react';
import { go, toHash, useRoute } from '../../shared/hash-route.ts';
import { useStore } from '../../shared/store.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { mailbox } from '../model/mailbox.ts';
import { applySuggestion, suggestSearch } from './search-suggestions.ts';

const t = mailTexts.list;

export function SearchBox() {
  const route = useRoute();
  const active = route.query.get('q') ?? '';
  const [text, setText] = useState(active);
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const listId = useId();
  useEffect(() => setText(active), [active]);
  const folders = useStore(mailbox, (state) => state.folders);
  const messages = useStore(mailbox, (state) => state.messages);
  const offered = useMemo(
    () => (isOpen ? suggestSearch(text, folders, messages) : []),
    [isOpen, text, folders, messages],
  );
  const isShown = isOpen && offered.length > 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setOpen(false);
    go(text.trim() ? toHash(['search'], { q: text.trim() }) : toHash([]));
    (document.activeElement as HTMLElement | null)?.blur();
  };
  const choose = (operator: string) => {
    setText(applySuggestion(text, operator));
    setChosen(-1);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const choice = offered[chosen]?.text;
    if (event.key === 'Escape') {
      setOpen(false);
      event.currentTarget.blur();
    } else if (event.key === 'ArrowDown' && isShown) setChosen(Math.min(chosen + 1, offered.length - 1));
    else if (event.key === 'ArrowUp' && isShown) setChosen(Math.max(chosen - 1, -1));
    else if ((event.key === 'Enter' || event.key === 'Tab') && isShown && choice) choose(choice);
    else return;
    event.preventDefault();
  };
  return (
    <search className="search-box">
      <form onSubmit={submit}>
        <input
          id="search"
          type="search"
          role="combobox"
          aria-label={t.searchMail}
          aria-expanded={isShown}
          aria-controls={listId}
          aria-activedescendant={isShown && chosen >= 0 ? `${listId}-${chosen}` : undefined}
          placeholder={t.searchMail}
          autoComplete="off"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            // The button that clears the field leaves the search, as the next thing that a user looks for is the Inbox.
            if (event.target.value === '' && active !== '') go(toHash([]));
            setOpen(true);
            setChosen(-1);
          }}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={onKeyDown}
        />
      </form>
      <div className="suggestions" id={listId} role="listbox" aria-label={t.searchOperators} hidden={!isShown}>
        {offered.map(({ text: operator, meaning }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys of its list
          <div
            key={operator}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(operator)}
          >
            <code>{operator}</code> <span className="muted small">{meaning}</span>
          </div>
        ))}
      </div>
    </search>
  );
}
