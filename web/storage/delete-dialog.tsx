/** Confirms a deletion: of selected objects and folders, or of everything in a bucket. */
import { type FormEvent, useState } from 'react';
import { Dialog } from '../shared/dialog.tsx';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';

const t = storageTexts.objects;

interface Props {
  title: string;
  /** Text of the dialog: says what is deleted and what is kept. */
  text: string;
  /** Whether the bucket keeps versions, so that they can be deleted too. */
  hasVersions: boolean;
  /** Whether all versions are deleted without offering a choice. */
  isAlwaysPermanent?: boolean;
  /** Name that the user must type to confirm, such as the bucket's. */
  nameToType?: string;
  action: string;
  onConfirm: (isPermanent: boolean) => void;
  onClose: () => void;
}

export function DeleteDialog(props: Props) {
  const { title, text, hasVersions, isAlwaysPermanent = false, nameToType, action, onConfirm, onClose } = props;
  const [isPermanent, setPermanent] = useState(isAlwaysPermanent);
  const [typed, setTyped] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onClose();
    onConfirm(isPermanent);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>{text}</p>
        {hasVersions && !isAlwaysPermanent && (
          <>
            <label className="check">
              <input type="checkbox" checked={isPermanent} onChange={(event) => setPermanent(event.target.checked)} />
              {t.deleteVersions}
            </label>
            {!isPermanent && <p className="muted small">{t.deleteVersionsHint}</p>}
          </>
        )}
        {nameToType !== undefined && (
          <label className="field">
            <span>{fill(t.typeToConfirm, { nameToType })}</span>
            <input
              value={typed}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setTyped(event.target.value)}
            />
          </label>
        )}
        <div className="row">
          <button type="submit" className="danger" disabled={nameToType !== undefined && typed.trim() !== nameToType}>
            {action}
          </button>
          <button type="button" onClick={onClose}>
            {t.cancel}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
