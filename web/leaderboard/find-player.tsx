/** Finds a player by id and, on boards that let everyone search names, by the beginning of the name. */
import { type FormEvent, useState } from 'react';
import { describeError } from '../shared/api.ts';
import { boardTexts } from '../shared/texts/board.ts';
import { fill } from '../shared/texts/index.ts';
import { findByName, type Standing } from './api.ts';
import { Standings } from './standings.tsx';

const t = boardTexts.page;

/** Characters of a player id. Other text can only be a name. */
const PLAYER_ID = /^[\w.:@-]+$/;

interface Search {
  text: string;
  rows: Standing[];
  error: string | null;
}

interface Props {
  season: string | null;
  /** Whether everyone may search the players of the board by name. */
  hasNames: boolean;
  here: string | null;
  onFind: (userId: string) => void;
}

export function FindPlayer({ season, hasNames, here, onFind }: Props) {
  const [search, setSearch] = useState<Search | null>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get('player') ?? '').trim();
    setSearch(null);
    if (text === '') return;
    if (!hasNames) return onFind(text);
    findByName(text, season).then(
      ({ data }) => {
        if (data.length === 0 && PLAYER_ID.test(text)) onFind(text);
        else setSearch({ text, rows: data, error: data.length === 0 ? fill(t.noName, { name: text }) : null });
      },
      (error: unknown) => setSearch({ text, rows: [], error: describeError(error) }),
    );
  };
  const label = hasNames ? t.findByName : t.findPlayer;
  return (
    <search className="stack">
      <form className="row" onSubmit={submit}>
        <input name="player" type="search" aria-label={label} placeholder={label} maxLength={64} />
        <button type="submit">{t.find}</button>
      </form>
      <div role="status">
        {search?.error && <p className="error-box">{search.error}</p>}
        {search && search.rows.length > 0 && (
          <section className="card stack" aria-label={t.namesFound}>
            <Standings rows={search.rows} caption={t.namesFound} here={here} onPick={onFind} />
            {PLAYER_ID.test(search.text) && (
              <button type="button" className="quiet" onClick={() => onFind(search.text)}>
                {fill(t.withId, { userId: search.text })}
              </button>
            )}
          </section>
        )}
      </div>
    </search>
  );
}
