/**
 * Values of forms that were not saved. They are kept in this browser until they are saved or discarded: a change of the page, a failed
 * request, an ended session and a closed tab lose nothing. Signing out forgets them.
 */
import { type FormEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { texts } from './texts/index.ts';

const PREFIX = 'tessera.unsaved.';

/** Values of one form, by name of the field. */
type Values = Record<string, string | boolean>;

function read<T>(name: string): T | null {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function write(name: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // The browser's storage is full or unavailable. The values stay until the form is closed.
  }
}

/** Whether a form has values that were not saved. @param name of the form, with its owner. */
export const hasUnsaved = (name: string): boolean => read(name) !== null;

/** Forgets the values of an owner's forms. */
export function forgetUnsaved(owner: string): void {
  try {
    for (const name of Object.keys(localStorage))
      if (name.startsWith(`${PREFIX}${owner}.`)) localStorage.removeItem(name);
  } catch {
    // Storage is unavailable, so there is nothing to forget.
  }
}

interface Unsaved<T> {
  readonly value: T;
  readonly isKept: boolean;
  set(value: T): void;
  forget(): void;
}

/**
 * State of a form that survives until it is forgotten.
 * @param name of the form, with its owner.
 * @param saved the value if nothing is kept.
 */
export function useUnsaved<T>(name: string, saved: T): Unsaved<T> {
  const [state, setState] = useState<{ name: string; kept: T | null }>(() => ({ name, kept: read<T>(name) }));
  const kept = state.name === name ? state.kept : read<T>(name);
  const change = (value: T | null) => {
    write(name, value);
    setState({ name, kept: value });
  };
  return { value: kept ?? saved, isKept: kept !== null, set: change, forget: () => change(null) };
}

/** Says that a form has values that are not saved. */
export function UnsavedNote({ onDiscard }: { onDiscard: () => void }) {
  return (
    <p className="small muted row" role="status">
      {texts.app.unsaved}
      <button type="button" className="quiet small" onClick={onDiscard}>
        {texts.app.discardUnsaved}
      </button>
    </p>
  );
}

const listFields = (form: HTMLFormElement): (HTMLInputElement | HTMLTextAreaElement)[] =>
  [...form.elements].filter(
    (field) => (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) && field.name !== '',
  ) as HTMLInputElement[];

interface Props {
  /** Name of the form, with its owner. */
  name: string;
  className: string;
  /** Saves the form. If it fails, the values stay. */
  onSave: (form: FormData) => Promise<unknown>;
  children: ReactNode;
}

/** A form whose fields keep their default values themselves. */
export function KeptForm({ name, className, onSave, children }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const [isKept, setKept] = useState(() => hasUnsaved(name));
  useLayoutEffect(() => {
    const values = read<Values>(name);
    for (const field of values && form.current ? listFields(form.current) : []) {
      const value = values?.[field.name];
      if (typeof value === 'string') field.value = value;
      else if (typeof value === 'boolean' && field instanceof HTMLInputElement) field.checked = value;
    }
  }, [name]);
  const keep = () => {
    if (!form.current) return;
    const values = listFields(form.current).map((field) => [
      field.name,
      field.type === 'checkbox' ? (field as HTMLInputElement).checked : field.value,
    ]);
    write(name, Object.fromEntries(values));
    setKept(true);
  };
  const forget = () => {
    write(name, null);
    setKept(false);
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    onSave(new FormData(event.currentTarget)).then(forget, () => undefined);
  };
  const discard = () => {
    form.current?.reset();
    forget();
  };
  return (
    <form ref={form} className={className} onSubmit={submit} onInput={keep}>
      {children}
      {isKept && <UnsavedNote onDiscard={discard} />}
    </form>
  );
}
