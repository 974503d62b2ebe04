/** Files that the user chooses: a button, a field that also takes dropped files, and a row per file. */
import { type DragEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { formatBytes } from './format.ts';
import { IconButton } from './icon-button.tsx';
import { Icon, type IconName } from './icons.tsx';
import { fill, texts } from './texts/index.ts';

const t = texts.app.files;

interface ChoiceProps {
  label: string;
  /** Content types, as in HTML; by default all. */
  accept?: string;
  isMultiple?: boolean;
  onFiles: (files: File[]) => void;
}

interface ButtonProps extends ChoiceProps {
  /** Shown in place of the label. */
  icon?: IconName;
  className?: string;
  isFolder?: boolean;
  /** Ids of elements that name the input, before the label, and describe it. */
  labelledBy?: string;
  describedBy?: string | undefined;
}

/** Looks like the other buttons. The input inside is invisible, but has the focus and the name. */
export function FileButton(props: ButtonProps) {
  const { label, accept, isMultiple = true, onFiles, icon, className = '', isFolder = false } = props;
  const labelId = useId();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isFolder) input.current?.setAttribute('webkitdirectory', '');
  }, [isFolder]);
  return (
    <label className={`button file-button ${className}`} data-tip={icon && label}>
      {icon && <Icon name={icon} />}
      <span id={labelId} className={icon && 'visually-hidden'}>
        {label}
      </span>
      <input
        ref={input}
        type="file"
        accept={accept}
        multiple={isMultiple}
        className="visually-hidden"
        aria-labelledby={props.labelledBy && `${props.labelledBy} ${labelId}`}
        aria-describedby={props.describedBy}
        onChange={({ target }) => {
          const files = [...(target.files ?? [])];
          // The same file can be chosen again.
          target.value = '';
          if (files.length > 0) onFiles(files);
        }}
      />
    </label>
  );
}

interface FieldProps extends ChoiceProps {
  hint?: string;
  /** The chosen files: rows of `FileRows`. */
  children?: ReactNode;
}

/** A field of a form with its own button and a place to drop files. */
export function FileField({ label, hint, accept, isMultiple = false, onFiles, children }: FieldProps) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const files = [...event.dataTransfer.files].slice(0, isMultiple ? undefined : 1);
    if (files.length > 0) onFiles(files);
  };
  return (
    <div className="field">
      <span id={`${id}-label`}>{label}</span>
      <fieldset
        className={isOver ? 'file-drop over' : 'file-drop'}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
      >
        <Icon name="upload" />
        <FileButton
          label={isMultiple ? t.chooseMany : t.choose}
          className="small"
          {...(accept === undefined ? {} : { accept })}
          isMultiple={isMultiple}
          labelledBy={`${id}-label`}
          describedBy={hint && `${id}-hint`}
          onFiles={onFiles}
        />
        <span className="muted small drop-words">{isMultiple ? t.dropMany : t.drop}</span>
      </fieldset>
      {hint && <small id={`${id}-hint`}>{hint}</small>}
      {children}
    </div>
  );
}

interface RowProps {
  name: string;
  /** Bytes; null if unknown. */
  size: number | null;
  picture?: ReactNode;
  /** From 0 to 1; null while it is not known. Without it, no progress is shown. */
  progress?: number | null;
  error?: string | null;
  onRemove?: () => void;
}

export function FileRow({ name, size, picture, progress, error, onRemove }: RowProps) {
  return (
    <li>
      {picture ?? <Icon name="file" />}
      <span className="ellipsis grow" title={name} dir="auto">
        {name}
      </span>
      {size !== null && <span className="muted small">{formatBytes(size)}</span>}
      {progress !== undefined && (
        <progress {...(progress === null ? {} : { value: progress })} aria-label={fill(t.uploading, { name })} />
      )}
      {onRemove && <IconButton icon="close" label={fill(t.remove, { name })} onClick={onRemove} />}
      {error && (
        <span className="danger-text small file-error" role="alert">
          {error}
        </span>
      )}
    </li>
  );
}

export function FileRows({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ul className="file-rows" aria-label={label}>
      {children}
    </ul>
  );
}
