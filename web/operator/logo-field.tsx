/** Field for a board's logo, in the dialog of the board. The logo is stored when it is chosen. */
import { useState } from 'react';
import { BoardLogo } from '../shared/board-logo.tsx';
import { FileField, FileRow, FileRows } from '../shared/files.tsx';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { request } from './token.ts';
import type { Board } from './types.ts';

const t = operatorTexts.boards;

/** Reads the logo with the operator's credential, because the board need not be public. */
export const readLogo = (path: string, signal: AbortSignal): Promise<Response> => request(path, { signal });

export function LogoField({ board, onChanged }: { board: Board; onChanged: () => void }) {
  const [logo, setLogo] = useState(board.logo ?? null);
  const [sending, setSending] = useState<File | null>(null);
  const path = `/v1/boards/${encodeURIComponent(board.board)}/logo`;
  const changed = (next: string | null) => {
    setLogo(next);
    showToast(operatorTexts.saved);
    onChanged();
  };
  const send = ([file]: File[]) => {
    if (!file) return;
    setSending(file);
    request(path, { method: 'PUT', rawBody: file, headers: { 'content-type': file.type } })
      .then((response) => response.json() as Promise<{ logo: string }>)
      .then((answer) => changed(answer.logo), showError)
      .finally(() => setSending(null));
  };
  const remove = () => void request(path, { method: 'DELETE' }).then(() => changed(null), showError);
  return (
    <FileField label={t.logo} hint={t.logoRule} accept="image/png,image/webp" onFiles={send}>
      {(logo || sending) && (
        <FileRows label={t.logo}>
          {sending ? (
            <FileRow name={sending.name} size={sending.size} progress={null} />
          ) : (
            <FileRow
              name={t.currentLogo}
              size={null}
              picture={<BoardLogo path={logo} read={readLogo} />}
              onRemove={remove}
            />
          )}
        </FileRows>
      )}
    </FileField>
  );
}
