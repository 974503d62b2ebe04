/** `/_/embed/leaderboard`: the live top list alone, for other web sites. No other page may be framed. */
import { useEffect } from 'react';
import { BoardLogo } from '../shared/board-logo.tsx';
import { look } from '../shared/look.ts';
import { mount } from '../shared/page.tsx';
import { useStore } from '../shared/store.ts';
import { boardTexts } from '../shared/texts/board.ts';
import { useLoaded } from '../shared/use-loaded.ts';
import { describeSeason, loadBoard, openBoard, titleOf } from './api.ts';
import { readEmbed } from './embed-options.ts';
import './leaderboard.css';
import { live, watchTop } from './live.ts';
import { showDecimals } from './score-format.ts';
import { Standings } from './standings.tsx';

const t = boardTexts.page;
const { board, rows, theme } = readEmbed(location.search);
openBoard(board);
// The theme applies to this frame only and is not stored.
if (theme !== 'auto') look.set({ theme });

function Embed() {
  const top = useStore(live, (state) => state.top);
  const status = useStore(live, (state) => state.status);
  const { value } = useLoaded(() => loadBoard(board), []);
  showDecimals(value?.decimals ?? 0);
  useEffect(watchTop, []);
  const season = top ? describeSeason(top.season) : t.title;
  return (
    <main className="embed">
      <header className="row">
        <BoardLogo path={value?.logo} />
        <h1 className="grow ellipsis" dir="auto">
          {(value && titleOf(value)) ?? season}
        </h1>
        {status === 'live' && <span className="badge good live">{t.live}</span>}
      </header>
      {top && top.data.length === 0 && <p className="muted">{t.nobody}</p>}
      {top && top.data.length > 0 && <Standings rows={top.data.slice(0, rows)} caption={t.topList} />}
      <a
        className="small"
        href={`/_/leaderboard${board ? `#/?board=${encodeURIComponent(board)}` : ''}`}
        target="_blank"
        rel="noopener"
      >
        {t.whole}
      </a>
    </main>
  );
}

mount(<Embed />, 'leaderboard', false);
