/** Finds a player of a leaderboard by id or name, and corrects the score, hides or erases the player. */
import { type FormEvent, useState } from 'react';
import type { Page } from '../shared/api.ts';
import { formatCount } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { Quarantine } from './quarantine.tsx';
import { request, requestJson } from './token.ts';
import type { Board } from './types.ts';

const t = operatorTexts.boards;

interface Player {
  user_id: string;
  user_name: string;
  score: number;
  rank: number | null;
  hidden?: boolean;
}
interface Found {
  player: Player;
  path: string;
}
/** Players whose names begin with a text. */
interface Names {
  name: string;
  players: Player[];
  /** Path of a player's score in the board and season of the search. @param id the encoded player id */
  pathOf: (id: string) => string;
}

function CorrectionForm({
  found: { player, path },
  onDone,
}: {
  found: Found;
  onDone: (player: Player | null) => void;
}) {
  const isHidden = player.hidden === true;
  const correct = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const score = Number(form.get('score'));
    const body = {
      reason: String(form.get('reason')).trim(),
      ...(score === player.score ? {} : { score }),
      hidden: form.has('hidden'),
    };
    requestJson<{ user_info: Player }>(path, { method: 'PATCH', body }).then(({ user_info }) => {
      showToast(t.corrected);
      onDone(user_info);
    }, showError);
  };
  const erase = () => {
    if (!confirm(fill(t.confirmErase, { name: player.user_name }))) return;
    request(path, { method: 'DELETE' }).then(() => {
      showToast(t.erased);
      onDone(null);
    }, showError);
  };
  const values = { name: player.user_name, score: formatCount(player.score), rank: formatCount(player.rank ?? 0) };
  return (
    <form key={`${player.score} ${isHidden}`} className="stack" onSubmit={correct}>
      <p role="status">{fill(isHidden ? t.hiddenNow : t.found, values)}</p>
      <div className="row wrap end">
        <label className="field">
          <span>{t.score}</span>
          <input name="score" type="number" min={0} required defaultValue={player.score} />
        </label>
        <label className="field grow">
          <span>{t.reason}</span>
          <input name="reason" required maxLength={1000} />
        </label>
      </div>
      <label className="check">
        <input type="checkbox" name="hidden" defaultChecked={isHidden} />
        {t.hide}
      </label>
      <div className="row wrap">
        <button type="submit" className="primary">
          {t.correct}
        </button>
        <button type="button" className="danger" onClick={erase}>
          {t.erase}
        </button>
      </div>
    </form>
  );
}

function NamesFound({ names: { name, players, pathOf }, onPick }: { names: Names; onPick: (path: string) => void }) {
  if (players.length === 0) return <p role="status">{fill(t.noName, { name })}</p>;
  return (
    <ul className="plain-lines" aria-label={t.namesFound}>
      {players.map((player) => (
        <li key={player.user_id} className="row wrap">
          <span className="grow">
            <strong dir="auto">{player.user_name || player.user_id}</strong>{' '}
            <code className="muted">{player.user_id}</code>
          </span>
          <button
            type="button"
            className="quiet small"
            onClick={() => onPick(pathOf(encodeURIComponent(player.user_id)))}
          >
            {t.choose}
            <span className="visually-hidden"> {player.user_name || player.user_id}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Results in quarantine, and corrections of players. @param main title of the default board. */
export function Corrections({ main, boards }: { main: string; boards: readonly Board[] }) {
  const [found, setFound] = useState<Found | null>(null);
  const [names, setNames] = useState<Names | null>(null);
  const open = (path: string) =>
    requestJson<{ user_info: Player }>(path).then(
      ({ user_info }) => setFound({ player: user_info, path }),
      (error: unknown) => {
        setFound(null);
        showError(error);
      },
    );
  const find = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget, (event.nativeEvent as SubmitEvent).submitter);
    const textOf = (name: string) => encodeURIComponent(String(form.get(name)).trim());
    const board = textOf('board');
    const season = textOf('season');
    const base = board ? `/v1/boards/${board}` : '/v1';
    const player = textOf('player');
    const pathOf = (id: string) => `${base}/scores/${id}${season ? `?season=${season}` : ''}`;
    setNames(null);
    if (!form.has('by_name')) return void open(pathOf(player));
    setFound(null);
    requestJson<Page<Player>>(`${base}/players?name=${player}${season ? `&season=${season}` : ''}`).then(
      ({ data }) => setNames({ name: decodeURIComponent(player), players: data, pathOf }),
      showError,
    );
  };
  return (
    <>
      <Quarantine boards={boards.filter(({ sessions }) => sessions === 'required')} />
      <section className="card stack" aria-label={t.corrections}>
        <h2>{t.corrections}</h2>
        <p className="muted small">{t.correctionsAbout}</p>
        <form className="row wrap end" onSubmit={find}>
          <label className="field">
            <span>{t.board}</span>
            <select name="board">
              <option value="">{fill(t.default, { name: main })}</option>
              {boards.map(({ board, title }) => (
                <option key={board} value={board}>
                  {title}
                </option>
              ))}
            </select>
          </label>
          <label className="field grow">
            <span>{t.player}</span>
            <input name="player" required maxLength={64} spellCheck={false} />
          </label>
          <label className="field">
            <span>{t.season}</span>
            <input name="season" placeholder="2026-11" spellCheck={false} />
          </label>
          <button type="submit">{t.find}</button>
          <button type="submit" name="by_name" value="1">
            {t.searchNames}
          </button>
        </form>
        <p className="muted small">{t.searchNamesAbout}</p>
        {names && <NamesFound names={names} onPick={open} />}
        {found && (
          <CorrectionForm found={found} onDone={(player) => setFound(player && { player, path: found.path })} />
        )}
      </section>
    </>
  );
}
