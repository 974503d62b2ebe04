/** Parts that every page has: the top bar, the toasts, and the function that mounts the page. */
import { type MouseEvent, type ReactNode, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { isServed, useConfig } from './config.ts';
import { focusRegion, keepFocus } from './focus-keeper.ts';
import icon from './icon.svg';
import { Toasts } from './toasts.tsx';

export type PageName = 'mail' | 'storage' | 'leaderboard' | 'operator' | 'docs' | null;

const LINKS: [PageName, string][] = [
  ['mail', 'Mail'],
  ['storage', 'Storage'],
  ['leaderboard', 'Leaderboard'],
  ['operator', 'Operator'],
];

/** Moves the focus itself, because the hash is the route and cannot name an element. */
function skipToContent(event: MouseEvent): void {
  event.preventDefault();
  focusRegion(document.getElementById('main'));
}

interface TopBarProps {
  current: PageName;
  /** Shown before the name of the service, for example a menu button on a phone. */
  menu?: ReactNode;
  children?: ReactNode;
}

export function TopBar({ current, menu, children }: TopBarProps) {
  const config = useConfig();
  const links = LINKS.filter(([name]) => name === 'operator' || isServed(config, String(name)));
  return (
    <header className="top-bar">
      {/* biome-ignore lint/a11y/useValidAnchor: it navigates in the page, but the hash is the route */}
      <a className="skip-link" href="#main" onClick={skipToContent}>
        Skip to content
      </a>
      {menu}
      <a className="brand" href="/_/" aria-label="Tessera, all services">
        <img src={icon} alt="" />
        <span>Tessera</span>
      </a>
      <nav aria-label="Services">
        {links.map(([name, label]) => (
          <a key={name} href={`/_/${name}`} aria-current={name === current ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <span className="grow" />
      {children}
    </header>
  );
}

export function mount(page: ReactNode): void {
  const element = document.getElementById('app');
  if (!element) throw new Error('The page has no #app.');
  keepFocus();
  createRoot(element).render(
    <StrictMode>
      {page}
      <Toasts />
    </StrictMode>,
  );
}
