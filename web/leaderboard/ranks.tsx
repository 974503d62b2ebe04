/** Shows any part of the standings, chosen by rank. */
import { type FormEvent, useEffect, useState } from 'react';
import { describeError } from '../shared/api.ts';
import { formatCount } from '../shared/format.ts';
import { boardTexts } from '../shared/texts/board.ts';
import { fill } from '../shared/texts/index.ts';
import { loadTop, type Standing } from './api.ts';
import { Standings } from './standings.tsx';

const t = boardTexts.page;
const ROWS = 20;

interface Props {
  /** The first rank to show; 0 or NaN if the visitor chose none. */
  from: number;
  season: string | null;
  players: number;
  here: string | null;
  /** Counter: when it changes, the ranks are loaded again. */
  refresh: number;
  /** Called when the visitor chooses another part of the standings. @param from the first rank to show; null closes the list. */
  onGo: (from: number | null) => void;
  onPick: (userId: string) => void;
}

function useRanks(from: number, season: string | null, refresh: number) {
  const [state, setState] = useState<{ from: number; rows: Standing[]; error: string | null } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new value of `refresh` starts another read
  useEffect(() => {
    if (!(from >= 1)) {
      setState(null);
      return;
    }
    let isCurrent = true;
    loadTop({ season, from_rank: from, limit: ROWS }).then(
      ({ data }) => isCurrent && setState({ from, rows: data, error: null }),
      (error: unknown) => isCurrent && setState({ from, rows: [], error: describeError(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [from, season, refresh]);
  return state?.from === from ? state : null;
}

export function Ranks({ from, season, players, here, refresh, onGo, onPick }: Props) {
  const ranks = useRanks(from, season, refresh);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    onGo(Number(new FormData(event.currentTarget).get('rank')));
  };
  const rows = ranks?.rows ?? [];
  const values = {
    from: formatCount(rows[0]?.rank ?? from),
    to: formatCount(rows.at(-1)?.rank ?? from),
    count: formatCount(players),
  };
  return (
    <section className="card stack" aria-label={t.ranks}>
      <form className="row wrap" onSubmit={submit}>
        <h2 className="grow ellipsis">{t.ranks}</h2>
        <label className="row rank-label">
          <span>{t.rank}</span>
          <input
            key={from}
            className="rank-field"
            name="rank"
            type="number"
            min={1}
            max={players}
            required
            defaultValue={from >= 1 ? from : ''}
          />
        </label>
        <button type="submit">{t.go}</button>
      </form>
      {ranks?.error && <p className="error-box">{ranks.error}</p>}
      {ranks && !ranks.error && rows.length === 0 && <p className="muted">{fill(t.beyond, { count: values.count })}</p>}
      {rows.length > 0 && (
        <>
          <p className="muted small" role="status">
            {fill(t.between, values)}
          </p>
          <Standings rows={rows} caption={t.ranks} here={here} onPick={onPick} />
          <div className="row wrap">
            <button type="button" disabled={from <= 1} onClick={() => onGo(Math.max(1, from - ROWS))}>
              {t.previous}
            </button>
            <button type="button" disabled={from + ROWS > players} onClick={() => onGo(from + ROWS)}>
              {t.next}
            </button>
            <span className="grow" />
            <button type="button" className="quiet" onClick={() => onGo(null)}>
              {t.closeRanks}
            </button>
          </div>
        </>
      )}
    </section>
  );
}
