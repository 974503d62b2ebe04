/** The list of conversations. Renders only visible rows, and reads further pages as they come near. */
import { type KeyboardEvent, useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import { Icon } from '../../shared/icons.tsx';
import { localeOf, look } from '../../shared/look.ts';
import { useStore } from '../../shared/store.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { useViewport, visibleRange } from '../../shared/windowed-list.ts';
import { act, isNarrow } from '../actions/actions.ts';
import type { FolderRole } from '../model/api.ts';
import { loadAround, totalOf } from '../model/list-reading.ts';
import { mailbox, type Source } from '../model/mailbox.ts';
import { type Row, rowCount } from '../model/rows.ts';
import { DAY_HEAD_PX, findDayHeads, headsAbove, type Period, rowAt, topOfRow } from './day-heads.ts';
import { FirstSteps, useFirstSteps } from './first-steps.tsx';
import { usePull } from './gestures.ts';
import { ListRow } from './list-row.tsx';

const ROW_PX = { comfortable: 70, compact: 48 } as const;
const { list } = mailTexts;
const MONTH = new Intl.DateTimeFormat(localeOf(), { month: 'long', year: 'numeric' });

const nameOf = (period: Period): string => (period.kind === 'month' ? MONTH.format(period.month) : list[period.kind]);

/** Placeholder for a row that is not loaded yet. */
function RowPlaceholder({ top }: { top: number }) {
  return (
    <li className="message-row waiting" style={{ top }} aria-hidden="true">
      <span />
      <span />
    </li>
  );
}

const EMPTY: Partial<Record<NonNullable<FolderRole>, string>> = list.emptyFolders;

function Empty({ source }: { source: Source }) {
  const role = useStore(mailbox, (state) =>
    source.kind === 'folder' ? (state.folders.find((one) => one.id === source.folderId)?.role ?? null) : null,
  );
  const firstSteps = useFirstSteps();
  // On a phone there is no room for the introduction beside the list, so it replaces the list.
  if (role === 'inbox' && firstSteps.isShown && isNarrow()) return <FirstSteps onFinish={firstSteps.finish} />;
  return (
    <div className="muted empty">
      <Icon name={role ?? (source.kind === 'search' ? 'search' : 'folder')} />
      <p>{source.kind === 'search' ? list.nothingFound : list.nothingHere}</p>
      {role && EMPTY[role] && <p className="small">{EMPTY[role]}</p>}
      {source.kind === 'search' && <p className="small">{list.nothingFoundHint}</p>}
    </div>
  );
}

export function MessageList({ isOutgoing, title }: { isOutgoing: boolean; title: string }) {
  const { ref, view } = useViewport();
  const state = useStore(mailbox, (whole) => whole);
  const { rows, firstRow, shift, cursor, isLoading, error, activeId, selected, source } = state;
  // The scroll bar covers the whole folder. Rows are loaded when the user scrolls to them.
  const count = rowCount(state, totalOf(state));
  const rowPx = ROW_PX[useStore(look, (chosen) => chosen.density)];
  const day = new Date().toDateString();
  const heads = useMemo(
    () =>
      findDayHeads(
        rows.map((row) => row.messages[0]?.received_at ?? ''),
        firstRow,
        new Date(day),
      ),
    [rows, firstRow, day],
  );
  const topOf = (index: number) => topOfRow(heads, index, rowPx);
  const { first, last } = visibleRange(rowAt(heads, view.top, rowPx) * rowPx, view.height, rowPx, count);
  const pull = usePull(ref);
  const known = useMemo(() => rows.findIndex((row) => row.threadId === activeId), [rows, activeId]);
  const activeAt = known === -1 ? -1 : firstRow + known;
  const drawn: [number, Row][] = [];
  const waiting: number[] = [];
  for (let index = first; index < last; index += 1) {
    const row = rows[index - firstRow];
    if (row) drawn.push([index, row]);
    else waiting.push(index);
  }
  const tabStop = activeAt === -1 ? drawn[0]?.[0] : activeAt;
  // Always render the active row, even outside the visible part, because it may have the focus.
  const active = rows[known];
  if (active && activeAt < first) drawn.unshift([activeAt, active]);
  else if (active && activeAt >= last) drawn.push([activeAt, active]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows may still be missing after each read
  useEffect(() => {
    void loadAround(first, last);
  }, [first, last, rows, cursor, isLoading]);
  const shifted = useRef({ shift: 0, heads: 0 });
  useLayoutEffect(() => {
    // Keep the visible rows in place when the number of rows and headings above them changes.
    const above = headsAbove(heads, first);
    const before = shifted.current;
    if (shift !== before.shift)
      ref.current?.scrollBy(0, (shift - before.shift) * rowPx + (above - before.heads) * DAY_HEAD_PX);
    shifted.current = { shift, heads: above };
  }, [shift, heads, first, rowPx, ref]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another source starts at its top
  useEffect(() => {
    ref.current?.scrollTo(0, 0);
  }, [source]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a move of the active row scrolls
  useEffect(() => {
    const element = ref.current;
    if (!element || activeAt === -1) return;
    const top = topOf(activeAt);
    // Scroll far enough up that the day heading above the row is visible too.
    if (top - DAY_HEAD_PX < element.scrollTop) element.scrollTop = top - DAY_HEAD_PX;
    else if (top + rowPx > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + rowPx - element.clientHeight;
    }
  }, [activeId]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      act.step(event.key === 'ArrowDown' ? 1 : -1);
    }
  };
  return (
    <section
      className={selected.size > 0 ? 'list-scroll selecting' : 'list-scroll'}
      ref={ref}
      aria-label={title}
      aria-busy={isLoading}
      onKeyDown={onKeyDown}
    >
      {pull !== 'none' && (
        <p className="pull small muted" role="status">
          <Icon name="refresh" size={16} /> {list.pull[pull]}
        </p>
      )}
      {error && <p className="error-box">{error}</p>}
      {!isLoading && !error && rows.length === 0 && cursor === null && source && <Empty source={source} />}
      <div className="rows-box" style={{ height: count * rowPx + heads.length * DAY_HEAD_PX }}>
        <ul className="rows">
          {drawn.map(([index, row]) => (
            <ListRow
              key={row.threadId}
              row={row}
              index={index}
              top={topOf(index)}
              count={cursor === null && firstRow === 0 ? count : -1}
              isActive={row.threadId === activeId}
              isTabStop={index === tabStop}
              isSelected={selected.has(row.threadId)}
              isOutgoing={isOutgoing}
            />
          ))}
          {waiting.map((index) => (
            <RowPlaceholder key={index} top={topOf(index)} />
          ))}
        </ul>
        {heads
          .filter(({ index }) => index >= first && index < last)
          .map(({ index, period }) => (
            <h2 key={index} className="day-head" style={{ top: topOf(index) - DAY_HEAD_PX }}>
              {nameOf(period)}
            </h2>
          ))}
      </div>
      {isLoading && waiting.length === 0 && (
        <p className="muted loading">{cursor === null ? list.loading : list.loadingMore}</p>
      )}
    </section>
  );
}
