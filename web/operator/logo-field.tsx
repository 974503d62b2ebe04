/** Field for a board's logo, in the dialog of the board. The logo is stored when it is chosen. */
import { type ChangeEvent, useState } from 'react';
import { BoardLogo } from '../shared/board-logo.tsx';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { request } from './token.ts';
import type { Board } from './types.ts';

const t = operatorTexts.boards;

/** Reads the logo with the operator's credential, because the board need not be public. */
export const readLogo = (path: string, signal: AbortSignal): Promise<Response> => request(path, { signal });

export function LogoField({ board, onChanged }: { board: Board; onChanged: () => void }) {
  const [logo, setLogo] = useState(board.logo ?? null);
  const path = `/v1/boards/${encodeURIComponent(board.board)}/logo`;
  const changed = (next: string | null) => {
    setLogo(next);
    showToast(operatorTexts.saved);
    onChanged();
  };
  const choose = ({ target }: ChangeEvent<HTMLInputElement>) => {
    const file = target.files?.[0];
    target.value = '';
    if (!file) return;
    request(path, { method: 'PUT', rawBody: file, headers: { 'content-type': file.type } })
      .then((response) => response.json() as Promise<{ logo: string }>)
      .then((answer) => changed(answer.logo), showError);
  };
  const remove = () => request(path, { method: 'DELETE' }).then(() => changed(null), showError);
  return (
    <div className="field">
      <label className="field">
        <span>{t.logo}</span>
        <input type="file" accept="image/png,image/webp" onChange={choose} />
        <small>{t.logoRule}</small>
      </label>
      {logo && (
        <div className="row">
          <BoardLogo path={logo} read={readLogo} />
          <button type="button" className="quiet small" onClick={() => void remove()}>
            {t.removeLogo}
          </button>
        </div>
      )}
    </div>
  );
}
