/** The tools of the editor of formatted text. One of them is in the tab order; the arrow keys lead to the others. */
import { type FormEvent, type KeyboardEvent, useLayoutEffect, useRef, useState } from 'react';
import { IconButton } from '../../shared/icon-button.tsx';
import { Menu } from '../../shared/menu.tsx';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import type { Editor } from './editor.ts';
import { listMenus } from './format-menus.ts';
import { hasToggle, TOGGLES, type Toggle, useFormatState } from './format-state.ts';

const { window: t } = mailComposeTexts;

const KEYS: Partial<Record<Toggle, string>> = {
  bold: 'Ctrl+B',
  italic: 'Ctrl+I',
  underline: 'Ctrl+U',
  strike: 'Ctrl+Shift+7',
  list: 'Ctrl+Shift+8',
  numbers: 'Ctrl+Shift+9',
  quote: 'Ctrl+]',
};

const TURN_ON: Readonly<Record<Toggle, (editor: Editor) => unknown>> = {
  bold: (editor) => editor.bold(),
  italic: (editor) => editor.italic(),
  underline: (editor) => editor.underline(),
  strike: (editor) => editor.strikethrough(),
  list: (editor) => editor.makeUnorderedList(),
  numbers: (editor) => editor.makeOrderedList(),
  quote: (editor) => editor.increaseQuoteLevel(),
  code: (editor) => editor.code(),
};
const TURN_OFF: Readonly<Record<Toggle, (editor: Editor) => unknown>> = {
  bold: (editor) => editor.removeBold(),
  italic: (editor) => editor.removeItalic(),
  underline: (editor) => editor.removeUnderline(),
  strike: (editor) => editor.removeStrikethrough(),
  list: (editor) => editor.removeList(),
  numbers: (editor) => editor.removeList(),
  quote: (editor) => editor.decreaseQuoteLevel(),
  code: (editor) => editor.removeCode(),
};

const isAddress = (text: string): boolean => /^(?:https?:\/\/|mailto:|tel:)./i.test(text);
/** Completes what people type as an address: `example.org`, `mira@example.org`. */
function toAddress(typed: string): string | null {
  const text = typed.trim();
  if (isAddress(text)) return text;
  if (/^[^\s@/]+@[^\s@/]+\.[^\s@/]+$/.test(text)) return `mailto:${text}`;
  return /^[^\s:/]+\.[^\s:]{2,}$/.test(text) ? `https://${text}` : null;
}

/** Asks for the address of a link. */
function LinkForm({
  link,
  onSet,
  onEnd,
}: {
  link: string | null;
  onSet: (address: string | null) => void;
  onEnd: () => void;
}) {
  const [typed, setTyped] = useState(link ?? '');
  const [isWrong, setWrong] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.select(), []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const address = toAddress(typed);
    if (address) onSet(address);
    else setWrong(true);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    onEnd();
  };
  return (
    <form className="link-form" onSubmit={submit} onKeyDown={onKeyDown} aria-label={t.tools.link}>
      <input
        ref={field}
        inputMode="url"
        aria-label={t.linkAddress}
        aria-invalid={isWrong}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setWrong(false);
        }}
      />
      <button type="submit" className="small primary">
        {t.setLink}
      </button>
      {link !== null && (
        <button type="button" className="small" onClick={() => onSet(null)}>
          {t.removeLink}
        </button>
      )}
      <button type="button" className="quiet small" onClick={onEnd}>
        {t.cancelLink}
      </button>
      {isWrong && (
        <span className="small warning-text" role="alert">
          {t.wrongLink}
        </span>
      )}
    </form>
  );
}

/** Keeps one button of the toolbar in the tab order (ARIA Authoring Practices, toolbar). */
function useOneStop() {
  const bar = useRef<HTMLDivElement>(null);
  const current = useRef(0);
  const listButtons = () => [...(bar.current?.querySelectorAll<HTMLElement>(':scope > button') ?? [])];
  useLayoutEffect(() => {
    for (const [at, button] of listButtons().entries()) button.tabIndex = at === current.current ? 0 : -1;
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const all = listButtons();
    const at = all.indexOf(event.target as HTMLElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at === -1 || to === undefined) return;
    event.preventDefault();
    current.current = (to + all.length) % all.length;
    for (const [one, button] of all.entries()) button.tabIndex = one === current.current ? 0 : -1;
    all[current.current]?.focus();
  };
  return { bar, onKeyDown };
}

export function FormatBar({ editor }: { editor: Editor | null }) {
  const state = useFormatState(editor);
  const [isLinking, setLinking] = useState(false);
  const { bar, onKeyDown } = useOneStop();
  const edit = (work: (one: Editor) => unknown) => () => {
    if (!editor) return;
    work(editor);
    editor.focus();
  };
  const menus = listMenus(state, edit);
  const setLink = (address: string | null) => {
    setLinking(false);
    edit((one) => (address ? one.makeLink(address) : one.removeLink()))();
  };
  const endLink = () => {
    setLinking(false);
    editor?.focus();
  };
  return (
    <>
      {isLinking && <LinkForm link={state.link} onSet={setLink} onEnd={endLink} />}
      <div
        ref={bar}
        className="format-bar"
        role="toolbar"
        aria-label={t.toolbar}
        tabIndex={-1}
        onKeyDown={onKeyDown}
        // Keep the focus: a press on a button must not move the cursor out of the text.
        onMouseDown={(event) => event.preventDefault()}
      >
        {TOGGLES.map((tool) => (
          <IconButton
            key={tool}
            icon={tool}
            label={t.tools[tool]}
            keys={KEYS[tool]}
            isPressed={state.on.includes(tool)}
            onClick={edit((one) => (hasToggle(one, tool) ? TURN_OFF : TURN_ON)[tool](one))}
          />
        ))}
        <IconButton
          icon="link"
          label={t.tools.link}
          isPressed={state.link !== null}
          onClick={() => setLinking(!isLinking)}
        />
        {menus.map(({ icon, label, commands }) => (
          <Menu key={label} icon={icon} label={label} commands={commands} />
        ))}
        <IconButton icon="clear" label={t.tools.clear} onClick={edit((one) => one.removeAllFormatting())} />
        <IconButton icon="undo" label={t.tools.undo} keys="Ctrl+Z" onClick={edit((one) => one.undo())} />
        <IconButton icon="redo" label={t.tools.redo} keys="Ctrl+Shift+Z" onClick={edit((one) => one.redo())} />
      </div>
    </>
  );
}
