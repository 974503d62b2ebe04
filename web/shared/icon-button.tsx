/** A button with an icon in place of a word. Its name and its key are in a tooltip. */
import type { MouseEvent } from 'react';
import { Icon, type IconName } from './icons.tsx';

interface Props {
  icon: IconName;
  label: string;
  /** The key that does the same, for example `e`. */
  keys?: string | undefined;
  onClick?: ((event: MouseEvent<HTMLButtonElement>) => void) | undefined;
  className?: string;
  isDisabled?: boolean;
  isPressed?: boolean;
  isExpanded?: boolean;
  /** Id of the popover that it opens. */
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
