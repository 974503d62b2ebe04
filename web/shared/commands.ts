/** Commands of the open page, which the command palette lists. Each part of a page provides its own commands while it is shown. */
import { useEffect, useRef } from 'react';
import type { IconName } from './icons.tsx';
import { createStore } from './store.ts';

export interface Command {
  title: string;
  icon: IconName;
  /** Keyboard shortcuts of the command, separated by spaces. */
  keys?: string;
  run: () => void;
}

type Provider = () => readonly Command[];
const providers = new Set<Provider>();

export const listCommands = (): Command[] => [...providers].flatMap((provide) => provide());

export function provideCommands(provide: Provider): () => void {
  providers.add(provide);
  return () => providers.delete(provide);
}

/** Hook that provides commands while the component is shown. */
export function useCommands(provide: Provider): void {
  const latest = useRef(provide);
  latest.current = provide;
  useEffect(() => provideCommands(() => latest.current()), []);
}

export const palette = createStore({ isOpen: false });
export const togglePalette = (): void => palette.set(({ isOpen }) => ({ isOpen: !isOpen }));

const wordsOf = (text: string): string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

/** Finds commands that contain every word of the query. Commands that begin with the first word come first. */
export function findCommands(commands: readonly Command[], text: string): Command[] {
  const words = wordsOf(text);
  const found = commands.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
  const first = words[0];
  if (first === undefined) return found;
  const rank = ({ title }: Command) =>
    title.toLowerCase().startsWith(first) ? 0 : wordsOf(title).some((word) => word.startsWith(first)) ? 1 : 2;
  return found.toSorted((a, b) => rank(a) - rank(b));
}
