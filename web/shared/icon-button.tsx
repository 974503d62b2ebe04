/** A button with an icon instead of a word. A tooltip shows its name and its keyboard shortcut. */
import type { MouseEvent } from 'react';
import { Icon, type IconName } from './icons.tsx';

interface Props {
  icon: IconName;
  label: string;
  /** Keyboard shortcut of the button, for example `e`. */
  keys?: string | undefined;
  onClick?: ((event: MouseEvent<HTMLButtonElement>) => void) | undefined;
  className?: string;
  isDisabled?: boolean;
  isPressed?: boolean;
  isExpanded?: boolean;
  /** Id of the popover that the button opens. */
  popover?: string;
  tabIndex?: number;
}

export function IconButton(props: Props) {
  const { icon, label, keys, onClick, className = '', isDisabled, isPressed, isExpanded, popover, tabIndex } = props;
  return (
    <button
      type="button"
      className={`quiet icon ${className}`}
      aria-label={label}
      aria-keyshortcuts={keys}
      aria-pressed={isPressed}
      aria-expanded={isExpanded}
      data-tip={label}
      data-keys={keys}
      disabled={isDisabled}
      popoverTarget={popover}
      tabIndex={tabIndex}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
