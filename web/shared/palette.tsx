/** The command palette (Ctrl+K): every command of the page, found by its words. Loaded when it is opened. */
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { type Command, findCommands, listCommands, palette } from './commands.ts';
import { Icon } from './icons.tsx';
import { texts } from './texts/index.ts';

export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const [commands] = useState(listCommands);
  const listId = useId();
  const found = findCommands(commands, text);
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  useEffect(() => {
    document.getElementById(`${listId}-${chosen}`)?.scrollIntoView({ block: 'nearest' });
  }, [chosen, listId]);
  const close = () => palette.set({ isOpen: false });
  const run = (command: Command | undefined) => {
    if (!command) return;
    // Close the dialog first: it gives the focus back, and the command may then move it.
    dialog.current?.close();
    close();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    const { length } = found;
    if (event.key === 'Escape' || ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k')) close();
    else if (event.key === 'Enter') run(found[chosen]);
    else if (event.key === 'ArrowDown' && length > 0) setChosen((chosen + 1) % length);
    else if (event.key === 'ArrowUp' && length > 0) setChosen((chosen + length - 1) % length);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label={texts.app.palette.title}
      onCancel={close}
      onClick={(event) => event.target === dialog.current && close()}
      onKeyDown={onKeyDown}
    >
      <div className="palette-field">
        <Icon name="search" />
        <input
          value={text}
          role="combobox"
          aria-expanded
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={found.length > 0 ? `${listId}-${chosen}` : undefined}
          aria-label={texts.app.palette.field}
          placeholder={texts.app.palette.field}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setText(event.target.value);
            setChosen(0);
          }}
        />
      </div>
      <div className="palette-list" id={listId} role="listbox" aria-label={texts.app.palette.list}>
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys of its list
          <div
            key={command.title}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            <span className="grow">{command.title}</span>
            {command.keys?.split(' ').map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </div>
        ))}
      </div>
      {found.length === 0 && (
        <p className="muted palette-none" role="status">
          {texts.app.palette.none}
        </p>
      )}
    </dialog>
  );
}
