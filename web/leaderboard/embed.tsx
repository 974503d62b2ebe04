/** `/_/embed/leaderboard`: the live top list alone, for other web sites. No other page may be framed. */
import { useEffect } from 'react';
import { mount } from '../shared/page.tsx';
import { useStore } from '../shared/store.ts';
import { describeSeason } from './api.ts';
import './leaderboard.css';
import { live, watchTop } from './live.ts';
import { Standings } from './standings.tsx';

function Embed() {
  const top = useStore(live, (state) => state.top);
  const status = useStore(live, (state) => state.status);
  useEffect(watchTop, []);
  return (
    <main className="embed">
      <header className="row">
        <h1 className="grow ellipsis">{top ? describeSeason(top.season) : 'Leaderboard'}</h1>
        {status === 'live' && <span className="badge good live">Live</span>}
      </header>
      {top && top.data.length === 0 && <p className="muted">Nobody has scored yet.</p>}
      {top && top.data.length > 0 && <Standings rows={top.data} caption="Top list" />}
      <a className="small" href="/_/leaderboard" target="_blank" rel="noopener">
        The whole board
      </a>
    </main>
  );
}

mount(<Embed />, false);
