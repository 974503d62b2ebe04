/** Leaderboards, and corrections of scores. */
import { type FormEvent, useState } from 'react';
import { BoardLogo } from '../shared/board-logo.tsx';
import { Dialog } from '../shared/dialog.tsx';
import { FormButtons } from '../shared/form-buttons.tsx';
import { fill } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { Corrections } from './corrections.tsx';
import { LogoField, readLogo } from './logo-field.tsx';
import { usePages } from './paged.ts';
import { FurtherFields, readFurther, readSessions, SessionFields } from './session-fields.tsx';
import { request, requestJson } from './token.ts';
import type { Board } from './types.ts';

const t = operatorTexts.boards;

const DEFAULT_BOARD = 'default';

const NEW_BOARD: Board = {
  board: '',
  title: '',
  sort: 'desc',
  operator: 'sum',
  period: 'month',
  public: true,
  max_points_per_post: 1_000_000,
};

function Select({ name, label, texts, value, isFixed }: SelectProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <select name={name} defaultValue={value} disabled={isFixed}>
        {Object.entries(texts).map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
interface SelectProps {
  name: 'sort' | 'operator' | 'period';
  label: string;
  texts: Readonly<Record<string, string>>;
  value: string;
  isFixed: boolean;
}

function RuleFields({ board, isNew }: { board: Board; isNew: boolean }) {
  return (
    <>
      <Select name="sort" label={t.sort} texts={t.sorts} value={board.sort} isFixed={!isNew} />
      <Select name="operator" label={t.operator} texts={t.operators} value={board.operator} isFixed={!isNew} />
      <Select
        name="period"
        label={t.period}
        texts={isNew ? t.periods : t.allPeriods}
        value={board.period}
        isFixed={!isNew}
      />
      <p className="muted small">{t.fixed}</p>
      <label className="field">
        <span>{t.most}</span>
        <input
          name="max_points_per_post"
          type="number"
          required
          min={1}
          max={4_294_967_295}
          defaultValue={board.max_points_per_post ?? 1_000_000}
        />
      </label>
      <label className="field">
        <span>{t.mostPerDay}</span>
        <input
          name="max_points_per_day"
          type="number"
          min={1}
          max={Number.MAX_SAFE_INTEGER}
          defaultValue={board.max_points_per_day ?? ''}
        />
        <span className="muted small">{t.mostPerDayRule}</span>
      </label>
      <FurtherFields board={board} isNew={isNew} />
      <SessionFields board={board} />
      <label className="check">
        <input type="checkbox" name="public" defaultChecked={board.public} />
        {t.public}
      </label>
    </>
  );
}

interface BoardDialogProps {
  board: Board;
  onSaved: () => void;
  /** Called when the logo has changed. It is stored at once, before the form is saved. */
  onChanged: () => void;
  onClose: () => void;
}

function BoardDialog({ board, onSaved, onChanged, onClose }: BoardDialogProps) {
  const isNew = board.board === '';
  const isDefault = board.board === DEFAULT_BOARD;
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    // The rules of an existing board are disabled fields, which browsers do not send, so take them from the board.
    const choose = (name: 'sort' | 'operator' | 'period') => String(form.get(name) ?? board[name]);
    const title = String(form.get('title')).trim();
    const perDay = String(form.get('max_points_per_day') ?? '');
    const rules = {
      sort: choose('sort'),
      operator: choose('operator'),
      period: choose('period'),
      public: form.has('public'),
      max_points_per_post: Number(form.get('max_points_per_post')),
      max_points_per_day: perDay === '' ? null : Number(perDay),
      schedule: board.schedule ?? null,
      ...readFurther(form, board),
      ...readSessions(form, board),
    };
    const kept = { title, seasons_kept: board.seasons_kept ?? null, find_by_name: board.find_by_name ?? false };
    const body = isDefault ? kept : { ...kept, ...rules };
    const id = isNew ? String(form.get('board')).trim() : board.board;
    request(`/v1/boards/${encodeURIComponent(id)}`, { method: 'PUT', body }).then(() => {
      showToast(operatorTexts.saved);
      onSaved();
    }, showError);
  };
  return (
    <Dialog title={isNew ? t.create : board.title} onClose={onClose}>
      <form className="stack" onSubmit={save}>
        {isNew && (
          <label className="field">
            <span>{t.id}</span>
            <input
              name="board"
              required
              maxLength={32}
              pattern="[a-z0-9]([a-z0-9\-]*[a-z0-9])?"
              placeholder={t.races}
            />
          </label>
        )}
        <label className="field">
          <span>{t.name}</span>
          <input name="title" dir="auto" required maxLength={64} defaultValue={board.title} />
        </label>
        {!isNew && <LogoField board={board} onChanged={onChanged} />}
        {isDefault ? <p className="muted small">{t.fixedDefault}</p> : <RuleFields board={board} isNew={isNew} />}
        <FormButtons onCancel={onClose} />
      </form>
    </Dialog>
  );
}

const toPage = ({ board }: Board): string =>
  `/_/leaderboard${board === DEFAULT_BOARD ? '' : `#/?board=${encodeURIComponent(board)}`}`;

interface BoardLineProps {
  board: Board;
  onEdit: () => void;
  /** Null for a board that cannot be reset. */
  onReset: (() => void) | null;
  /** Null for a board that cannot be deleted. */
  onRemove: (() => void) | null;
}

function BoardLine({ board, onEdit, onReset, onRemove }: BoardLineProps) {
  return (
    <li className="row wrap">
      <BoardLogo path={board.logo} read={readLogo} />
      <span className="grow">
        <strong dir="auto">{board.title}</strong> <code className="muted">{board.board}</code>{' '}
        {!board.public && <span className="badge warn">{t.private}</span>}
        <span className="reason muted small">
          {fill(t.rules, {
            sort: t.sorts[board.sort],
            operator: t.operators[board.operator],
            period: t.allPeriods[board.period],
          })}
        </span>
      </span>
      <a href={toPage(board)}>
        {t.open}
        <span className="visually-hidden"> {board.title}</span>
      </a>
      <button type="button" className="quiet small" onClick={onEdit}>
        {t.edit}
        <span className="visually-hidden"> {board.title}</span>
      </button>
      {onReset && (
        <button type="button" className="quiet small" onClick={onReset}>
          {t.reset}
          <span className="visually-hidden"> {board.title}</span>
        </button>
      )}
      {onRemove && (
        <button type="button" className="quiet small" onClick={onRemove}>
          {operatorTexts.delete}
          <span className="visually-hidden"> {board.title}</span>
        </button>
      )}
    </li>
  );
}

function resetBoard({ board, title }: Board): void {
  if (!confirm(fill(t.confirmReset, { name: title }))) return;
  request(`/v1/boards/${encodeURIComponent(board)}/reset`, { method: 'POST' }).then(
    () => showToast(t.resetDone),
    showError,
  );
}

export function Boards() {
  const [prefix, setPrefix] = useState('');
  const search = /^[a-z0-9][a-z0-9-]{0,30}$/.test(prefix) ? `&prefix=${prefix}` : '';
  const { data, error, reload, hasMore, loadMore } = usePages<Board>(`/v1/boards?limit=200${search}`);
  const main = useLoaded(() => requestJson<Board>(`/v1/boards/${DEFAULT_BOARD}`), []);
  const boards = [...(main.value ? [main.value] : []), ...(data ?? [])];
  const reloadAll = () => {
    main.reload();
    reload();
  };
  const [edited, setEdited] = useState<Board | null>(null);
  const remove = ({ board, title }: Board) => {
    if (!confirm(fill(t.confirmDelete, { name: title }))) return;
    request(`/v1/boards/${encodeURIComponent(board)}`, { method: 'DELETE' }).then(() => {
      showToast(t.deleted);
      reload();
    }, showError);
  };
  return (
    <div className="stack-large">
      <section className="stack" aria-label={t.title}>
        <div className="row">
          <h2 className="grow">{t.title}</h2>
          <button type="button" className="primary" onClick={() => setEdited(NEW_BOARD)}>
            {t.create}
          </button>
        </div>
        <label className="field">
          <span>{t.search}</span>
          <input
            type="search"
            maxLength={31}
            value={prefix}
            onChange={(event) => setPrefix(event.target.value.trim())}
          />
        </label>
        {error && <p className="error-box">{error}</p>}
        <ul className="card plain-lines">
          {boards.map((board) => (
            <BoardLine
              key={board.board}
              board={board}
              onEdit={() => setEdited(board)}
              onReset={board === main.value ? null : () => resetBoard(board)}
              onRemove={board === main.value ? null : () => remove(board)}
            />
          ))}
          {data?.length === 0 && <li className="muted">{t.none}</li>}
        </ul>
        {hasMore && (
          <button type="button" onClick={loadMore}>
            {t.more}
          </button>
        )}
      </section>
      <Corrections main={main.value?.title ?? '…'} boards={data ?? []} />
      {edited && (
        <BoardDialog
          board={edited}
          onChanged={reloadAll}
          onClose={() => setEdited(null)}
          onSaved={() => {
            setEdited(null);
            reloadAll();
          }}
        />
      )}
    </div>
  );
}
