/** A button that opens a list of commands below it. Arrow keys move in the list, Escape closes it. */
import { type KeyboardEvent, type ToggleEvent, useId, useRef } from 'react';
import { IconButton } from './icon-button.tsx';
import { Icon, type IconName } from './icons.tsx';

export interface MenuCommand {
  icon: IconName;
  title: string;
  /** Keyboard shortcut of the command. */
  keys?: string;
  className?: string;
  run: () => void;
}

interface Props {
  icon: IconName;
  label: string;
  commands: readonly MenuCommand[];
  className?: string;
}

/** Distance in pixels between the menu and its button, and between the menu and the edge of the page. */
const GAP_PX = 4;

function place(menu: HTMLElement, button: DOMRect): void {
  const { offsetWidth: width, offsetHeight: height } = menu;
  const below = button.bottom + GAP_PX;
  const top = below + height > innerHeight ? Math.max(GAP_PX, button.top - GAP_PX - height) : below;
  menu.style.top = `${top}px`;
  menu.style.left = `${Math.max(GAP_PX, Math.min(button.right - width, innerWidth - width - GAP_PX))}px`;
}

export function Menu({ icon, label, commands, className = '' }: Props) {
  const id = useId().replaceAll(':', '');
  const menu = useRef<HTMLDivElement>(null);
  const items = () => [...(menu.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
  const onToggle = (event: ToggleEvent<HTMLDivElement>) => {
    const button = document.querySelector(`[popovertarget="${id}"]`);
    if (event.newState !== 'open' || !menu.current || !button) return;
    place(menu.current, button.getBoundingClientRect());
    items()[0]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const all = items();
    all.at((all.indexOf(document.activeElement as HTMLElement) + step) % all.length)?.focus();
  };
  return (
    <>
      <IconButton icon={icon} label={label} className={className} popover={id} />
      <div
        ref={menu}
        id={id}
        className="menu"
        popover="auto"
        role="menu"
        aria-label={label}
        tabIndex={-1}
        onToggle={onToggle}
        onKeyDown={onKeyDown}
      >
        {commands.map(({ icon: drawing, title, keys, className: style = '', run }) => (
          <button
            key={title}
            type="button"
            role="menuitem"
            className={`menu-item quiet ${style}`}
            onClick={() => {
              menu.current?.hidePopover();
              run();
            }}
          >
            <Icon name={drawing} /> <span className="grow">{title}</span> {keys && <kbd>{keys}</kbd>}
          </button>
        ))}
      </div>
    </>
  );
}
