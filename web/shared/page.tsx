/** Parts that every page has: the rail, the toasts, the tooltips, the palette, and the function that mounts the page. */
import { lazy, type MouseEvent, type ReactNode, StrictMode, Suspense } from 'react';
import { createRoot } from 'react-dom/client';
import type { WebConfig } from '../../workers/shared/web/web-config.ts';
import { ACCOUNT_MENU, type Account, AccountMenu } from './account-menu.tsx';
import { Avatar } from './avatar.tsx';
import { palette, provideCommands, togglePalette } from './commands.ts';
import { isServed, loadConfig, useConfig } from './config.ts';
import { focusRegion, keepFocus } from './focus-keeper.ts';
import icon from './icon.svg';
import { IconButton } from './icon-button.tsx';
import { Icon, type IconName } from './icons.tsx';
import { setLook, startLook, THEMES } from './look.ts';
import { useStore } from './store.ts';
import { fill, ready, texts } from './texts/index.ts';
import { Toasts } from './toasts.tsx';
import { Tooltips } from './tooltips.tsx';

const Palette = lazy(() => import('./palette.tsx').then((module) => ({ default: module.Palette })));

export type PageName = 'mail' | 'storage' | 'leaderboard' | 'operator' | 'docs' | null;

const LINKS = ['mail', 'storage', 'leaderboard', 'operator', 'docs'] as const satisfies readonly (PageName &
  IconName)[];

/** Entries of the rail: the products of this deployment, and the pages that every deployment has. */
const servedLinks = (config: WebConfig | null) =>
  LINKS.filter((name) => name === 'operator' || name === 'docs' || isServed(config, name)).map(
    (name) => [name, texts.app.pages[name]] as const,
  );

/** Handles the skip link. It moves the focus itself, because the hash of the address is the route and cannot name an element. */
function skipToContent(event: MouseEvent): void {
  event.preventDefault();
  focusRegion(document.getElementById('main'));
}

export function AccountButton({ account }: { account?: Account | null | undefined }) {
  const label = account ? fill(texts.app.menu.of, { name: account.name }) : texts.app.menu.title;
  return (
    <button
      type="button"
      className="quiet icon account-button"
      popoverTarget={ACCOUNT_MENU}
      aria-label={label}
      data-tip={label}
    >
      {account ? <Avatar name={account.name} id={account.id ?? account.detail} /> : <Icon name="account" size={22} />}
    </button>
  );
}

interface RailProps {
  current: PageName;
  account?: Account | null | undefined;
  /** Links and buttons that the page adds to the account menu. */
  children?: ReactNode;
}

/** Navigation between the products: at the left, on a phone at the top. */
export function Rail({ current, account, children }: RailProps) {
  const config = useConfig();
  const links = servedLinks(config);
  return (
    <header className={`rail at-${current ?? 'start'}`}>
      {/* biome-ignore lint/a11y/useValidAnchor: it navigates in the page, but the hash is the route */}
      <a className="skip-link" href="#main" onClick={skipToContent}>
        {texts.app.skip}
      </a>
      <a className="brand" href="/_/" aria-label={texts.app.start} data-tip={texts.app.start}>
        <img src={icon} alt="" />
      </a>
      <nav aria-label={texts.app.products}>
        {links.map(([name, label]) => (
          <a
            key={name}
            data-product={name}
            href={`/_/${name}`}
            aria-current={name === current ? 'page' : undefined}
            data-tip={label}
          >
            <Icon name={name} size={20} />
            <span>{label}</span>
          </a>
        ))}
      </nav>
      <span className="grow" />
      <IconButton icon="search" label={texts.app.menu.palette} keys="Ctrl+K" onClick={togglePalette} />
      <AccountButton account={account} />
      <AccountMenu account={account}>
        <div className="narrow-links">
          {links.map(([name, label]) => (
            <a key={name} className="menu-item" href={`/_/${name}`}>
              <Icon name={name} /> {label}
            </a>
          ))}
        </div>
        {children}
      </AccountMenu>
    </header>
  );
}

let config: WebConfig | null = null;

const pageCommands = () => [
  ...servedLinks(config).map(([name, label]) => ({
    title: fill(texts.app.palette.open, { name: label }),
    icon: name,
    run: () => location.assign(`/_/${name}`),
  })),
  ...THEMES.map((theme) => ({
    title: fill(texts.app.palette.theme, { name: texts.app.menu.themes[theme] }),
    icon: 'settings' as const,
    run: () => setLook({ theme }),
  })),
];

function OpenPalette() {
  const { isOpen } = useStore(palette, (state) => state);
  if (!isOpen) return null;
  return (
    <Suspense fallback={null}>
      <Palette />
    </Suspense>
  );
}

function listenForPalette(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'k') return;
    event.preventDefault();
    togglePalette();
  });
}

const titleOf = (name: PageName | 'notFound'): string => {
  const title = name === 'notFound' ? texts.app.notFound.title : name && texts.app.pages[name];
  return title ? `${title} · Tessera` : 'Tessera';
};

/**
 * Mounts the page into the document.
 * @param name of the page, for the title of the document; null for the start page.
 * @param isWhole whether the page has commands; a page in a frame has none.
 */
export function mount(page: ReactNode, name: PageName | 'notFound', isWhole = true): void {
  const element = document.getElementById('app');
  if (!element) throw new Error('#app is missing');
  startLook();
  keepFocus();
  if (isWhole) {
    listenForPalette();
    provideCommands(pageCommands);
    loadConfig().then(
      (loaded) => {
        config = loaded;
      },
      () => undefined,
    );
  }
  const render = () => {
    document.title = titleOf(name);
    createRoot(element).render(
      <StrictMode>
        {page}
        <Toasts />
        <Tooltips />
        <OpenPalette />
      </StrictMode>,
    );
  };
  // If a language cannot be loaded, the page stays in English.
  if (ready) void ready.then(render, render);
  else render();
}
