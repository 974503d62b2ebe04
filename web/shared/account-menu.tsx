/** The account menu: the user, theme, density and language, and signing out. */
import type { ReactNode } from 'react';
import { Avatar } from './avatar.tsx';
import { togglePalette } from './commands.ts';
import { Icon, type IconName } from './icons.tsx';
import { DENSITIES, look, setLook, THEMES } from './look.ts';
import { useStore } from './store.ts';
import { LANGUAGE_NAMES, texts } from './texts/index.ts';

export const ACCOUNT_MENU = 'account-menu';

/** The user who is signed in on this page. */
export interface Account {
  name: string;
  /** Second line of the account: a mail address or an access key. */
  detail: string;
  /** Text from which the colours of the monogram are computed. Default: `detail`. */
  id?: string | undefined;
  onSignOut: () => void;
}

export const closeAccountMenu = (): void => document.getElementById(ACCOUNT_MENU)?.hidePopover();

export function MenuItem({ icon, children, onClick }: { icon: IconName; children: ReactNode; onClick: () => void }) {
  return (
    <button
      type="button"
      className="menu-item quiet"
      onClick={() => {
        closeAccountMenu();
        onClick();
      }}
    >
      <Icon name={icon} /> {children}
    </button>
  );
}

interface ChoiceProps<T extends string> {
  name: string;
  title: string;
  values: readonly T[];
  labels: Readonly<Record<T, string>>;
  value: T;
  onChange: (value: T) => void;
}

function Choice<T extends string>({ name, title, values, labels, value, onChange }: ChoiceProps<T>) {
  return (
    <fieldset className="choice">
      <legend className="small">{title}</legend>
      <div className="segments">
        {values.map((one) => (
          <label key={one}>
            <input
              type="radio"
              className="visually-hidden"
              name={name}
              value={one}
              checked={one === value}
              onChange={() => onChange(one)}
            />
            <span>{labels[one]}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** Shows the account menu. @param children links and buttons that the page adds to it. */
export function AccountMenu({ account, children }: { account?: Account | null | undefined; children?: ReactNode }) {
  const { theme, density, language } = useStore(look, (state) => state);
  const { menu } = texts.app;
  return (
    <div id={ACCOUNT_MENU} className="account-menu" popover="auto" role="dialog" aria-label={menu.title}>
      {account && (
        <p className="account-head row">
          <Avatar name={account.name} id={account.id ?? account.detail} isLarge />
          <span className="grow">
            <strong className="ellipsis" dir="auto">
              {account.name}
            </strong>
            <span className="muted small ellipsis">{account.detail}</span>
          </span>
        </p>
      )}
      {children}
      <MenuItem icon="search" onClick={togglePalette}>
        <span className="grow">{menu.palette}</span> <kbd>Ctrl K</kbd>
      </MenuItem>
      <Choice
        name="theme"
        title={menu.theme}
        values={THEMES}
        labels={menu.themes}
        value={theme}
        onChange={(next) => setLook({ theme: next })}
      />
      <Choice
        name="density"
        title={menu.density}
        values={DENSITIES}
        labels={menu.densities}
        value={density}
        onChange={(next) => setLook({ density: next })}
      />
      <label className="field">
        <span>{menu.language}</span>
        <select
          value={language}
          onChange={(event) => {
            setLook({ language: event.target.value });
            // A changed language needs a reload, because texts and formats are chosen when the page starts.
            location.reload();
          }}
        >
          <option value="">{menu.automatic}</option>
          {Object.entries(LANGUAGE_NAMES).map(([tag, name]) => (
            <option key={tag} value={tag} lang={tag}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {account && (
        <MenuItem icon="signOut" onClick={account.onSignOut}>
          {menu.signOut}
        </MenuItem>
      )}
    </div>
  );
}
