/** Results of plays that broke a rule of their board. An operator accepts or refuses each, or bans its player. */
import { useState } from 'react';
import { formatCount } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { usePages } from './paged.ts';
import { PagedList } from './paged-list.tsx';
import { request } from './token.ts';
import type { Board, ResultInQuarantine } from './types.ts';

const t = operatorTexts.quarantine;

const DECISIONS = ['accept', 'refuse', 'ban'] as const;

function Results({ board }: { board: string }) {
  const path = `/v1/boards/${encodeURIComponent(board)}/quarantine`;
  const pages = usePages<ResultInQuarantine>(path);
  const decide = (result: ResultInQuarantine, decision: (typeof DECISIONS)[number]) => {
    const reason = prompt(fill(t.ask, { decision: t[decision], name: result.user_name ?? result.user_id }));
    if (!reason?.trim()) return;
    request(`${path}/${result.play_id}`, { method: 'POST', body: { decision, reason: reason.trim() } }).then(() => {
      showToast(t.decided);
      pages.reload();
    }, showError);
  };
  return (
    <PagedList pages={pages} label={t.title} empty={t.none}>
      {(result) => (
        <li key={result.play_id} className="row wrap">
          <span className="grow">
            <strong dir="auto">{result.user_name ?? result.user_id}</strong>{' '}
            <span className="badge warn">{t.breaches[result.breach]}</span>
            <span className="reason muted small">
              {fill(t.facts, { points: formatCount(result.points), seconds: formatCount(Math.round(result.seconds)) })}
            </span>
          </span>
          {DECISIONS.map((decision) => (
            <button
              key={decision}
              type="button"
              className={decision === 'ban' ? 'danger small' : 'quiet small'}
              onClick={() => decide(result, decision)}
            >
              {t[decision]}
              <span className="visually-hidden"> {result.user_name ?? result.user_id}</span>
            </button>
          ))}
        </li>
      )}
    </PagedList>
  );
}

/** @param boards those with sessions. Without any, nothing is shown. */
export function Quarantine({ boards }: { boards: readonly Board[] }) {
  const [chosen, setChosen] = useState('');
  const board = boards.find((each) => each.board === chosen) ?? boards[0];
  if (board === undefined) return null;
  return (
    <section className="stack" aria-label={t.title}>
      <h2>{t.title}</h2>
      <p className="muted small">{t.about}</p>
      {boards.length > 1 && (
        <label className="field">
          <span>{t.board}</span>
          <select value={board.board} onChange={(event) => setChosen(event.currentTarget.value)}>
            {boards.map(({ board: name, title }) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
      )}
      <Results key={board.board} board={board.board} />
    </section>
  );
}
