/** The list of conversations. Renders only visible rows, and reads further pages as they come near. */
import { type KeyboardEvent, type PointerEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { formatFull, formatWhen } from '../../shared/format.ts';
import { Icon } from '../../shared/icons.tsx';
import { useStore } from '../../shared/store.ts';
import { act } from '../actions/actions.ts';
import { describeAddress } from '../model/addresses.ts';
import type { Address, FolderRole } from '../model/api.ts';
import { loadAround, totalOf } from '../model/list-reading.ts';
import { mailbox, type Source } from '../model/mailbox.ts';
import { type Row, rowCount, visibleRange } from '../model/rows.ts';

const ROW_HEIGHT = 70;
const SWIPE_PX = 90;

function useViewport() {
  const ref = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const read = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(read);
    observer.observe(element);
    element.addEventListener('scroll', read, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', read);
    };
  }, []);
  return { ref, view };
}

/** Touch gestures: a swipe to the left archives a row, to the right marks it as read or unread. */
function useSwipe(row: Row) {
  const start = useRef<{ x: number; y: number } | null>(null);
  return {
    onPointerDown: (event: PointerEvent) => {
      start.current = event.pointerType === 'touch' ? { x: event.clientX, y: event.clientY } : null;
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      if (!start.current) return;
      const dx = event.clientX - start.current.x;
      if (Math.abs(dx) > Math.abs(event.clientY - start.current.y)) event.currentTarget.style.translate = `${dx}px 0`;
    },
    onPointerUp: (event: PointerEvent<HTMLElement>) => {
      const dx = start.current ? event.clientX - start.current.x : 0;
      start.current = null;
      event.currentTarget.style.translate = '';
      if (dx < -SWIPE_PX) act.archive([row]);
      if (dx > SWIPE_PX) act.toggleRead([row]);
    },
    onPointerCancel: (event: PointerEvent<HTMLElement>) => {
      start.current = null;
      event.currentTarget.style.translate = '';
    },
  };
}

function describePeople(row: Row, isOutgoing: boolean): string {
  const first = row.messages[0];
  if (isOutgoing) return first ? `To: ${first.to.map(describeAddress).join(', ') || 'nobody yet'}` : '';
  const names = new Set(row.messages.toReversed().map((message) => describeAddress(message.from as Address | null)));
  return [...names].join(', ');
}

interface RowProps {
  row: Row;
  index: number;
  count: number;
  isActive: boolean;
  /** The Tab key stops at one row only. */
  isTabStop: boolean;
  isSelected: boolean;
  isOutgoing: boolean;
}

function ListRow({ row, index, count, isActive, isTabStop, isSelected, isOutgoing }: RowProps) {
  const swipe = useSwipe(row);
  const newest = row.messages[0];
  if (!newest) return null;
  const classes = ['message-row', row.isUnread ? 'unread' : '', isActive ? 'active' : '', isSelected ? 'selected' : ''];
  const text = newest.snippet ?? newest.preview ?? '';
  return (
    <li
      className={classes.filter(Boolean).join(' ')}
      aria-posinset={index + 1}
      aria-setsize={count}
      aria-current={isActive ? 'true' : undefined}
      style={{ top: index * ROW_HEIGHT }}
      {...swipe}
    >
      <input
        type="checkbox"
        checked={isSelected}
        onChange={() => undefined}
        onClick={(event) => act.select(row, event.shiftKey)}
        aria-label={`Select ${newest.subject || 'message without subject'}`}
        tabIndex={-1}
      />
      <button
        type="button"
        className="row-body"
        data-thread={row.threadId}
        tabIndex={isTabStop ? 0 : -1}
        onClick={(event) => (event.shiftKey ? act.select(row, true) : act.open(row))}
      >
        <span className="row-line">
          {row.isUnread && <span className="visually-hidden">Unread. </span>}
          <span className="people ellipsis" dir="auto">
            {describePeople(row, isOutgoing)}
          </span>
          {row.messages.length > 1 && <span className="count">{row.messages.length}</span>}
          <time className="when" dateTime={newest.received_at} title={formatFull(newest.received_at)}>
            {formatWhen(newest.received_at)}
          </time>
        </span>
        <span className="row-line">
          <span className="subject ellipsis" dir="auto">
            {newest.subject || '(no subject)'}
          </span>
          {row.labels.map((label) => (
            <span key={label} className="badge">
              {label}
            </span>
          ))}
          {newest.has_attachments && (
            <span className="mark" role="img" aria-label="Has attachments">
              <Icon name="clip" />
            </span>
          )}
        </span>
        <span className="preview ellipsis" dir="auto">
          {plainSnippet(text)}
        </span>
      </button>
      <button
        type="button"
        className={row.isFlagged ? 'star on' : 'star'}
        aria-label={row.isFlagged ? 'Remove the flag' : 'Flag'}
        aria-pressed={row.isFlagged}
        tabIndex={-1}
        onClick={() => act.toggleFlag([row])}
      >
        {row.isFlagged ? '★' : '☆'}
      </button>
    </li>
  );
}

/** Removes the `<mark>` tags that search puts around matches. */
const plainSnippet = (text: string) => text.replaceAll(/<\/?mark>/g, '');

/** Placeholder for a row that is not loaded yet. */
function RowPlaceholder({ index }: { index: number }) {
  return (
    <li className="message-row waiting" style={{ top: index * ROW_HEIGHT }} aria-hidden="true">
      <span />
      <span />
    </li>
  );
}

const EMPTY: Partial<Record<NonNullable<FolderRole>, string>> = {
  inbox: 'All done. New mail appears here by itself.',
  flagged: 'Press s, or the star, and a message waits for you here.',
  drafts: 'Nothing half written.',
  sent: 'Nothing sent yet.',
  archive: 'What you have dealt with and want to keep: press e.',
  junk: 'No junk.',
  trash: 'Nothing thrown away.',
};

function Empty({ source }: { source: Source }) {
  const role = useStore(mailbox, (state) =>
    source.kind === 'folder' ? (state.folders.find((one) => one.id === source.folderId)?.role ?? null) : null,
  );
  return (
    <div className="muted empty">
      <Icon name={role ?? (source.kind === 'search' ? 'all' : 'folder')} />
      <p>{source.kind === 'search' ? 'Nothing found.' : 'Nothing here.'}</p>
      {role && EMPTY[role] && <p className="small">{EMPTY[role]}</p>}
    </div>
  );
}

export function MessageList({ isOutgoing, title }: { isOutgoing: boolean; title: string }) {
  const { ref, view } = useViewport();
  const state = useStore(mailbox, (whole) => whole);
  const { rows, firstRow, shift, cursor, isLoading, error, activeId, selected, source } = state;
  // The scroll bar covers the whole folder. Rows are loaded when the user scrolls to them.
  const count = rowCount(state, totalOf(state));
  const { first, last } = visibleRange(view.top, view.height, ROW_HEIGHT, count);
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
  // Always render the active row, because it may have the focus.
  const active = rows[known];
  if (active && activeAt < first) drawn.unshift([activeAt, active]);
  else if (active && activeAt >= last) drawn.push([activeAt, active]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows may still be missing after each read
  useEffect(() => {
    void loadAround(first, last);
  }, [first, last, rows, cursor, isLoading]);
  const shifted = useRef(0);
  useLayoutEffect(() => {
    // Keep the visible rows in place when the number of rows above them changes.
    if (shift !== 0) ref.current?.scrollBy(0, (shift - shifted.current) * ROW_HEIGHT);
    shifted.current = shift;
  }, [shift, ref]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another source starts at its top
  useEffect(() => {
    ref.current?.scrollTo(0, 0);
  }, [source]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a move of the active row scrolls
  useEffect(() => {
    const element = ref.current;
    if (!element || activeAt === -1) return;
    const top = activeAt * ROW_HEIGHT;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + ROW_HEIGHT > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + ROW_HEIGHT - element.clientHeight;
    }
  }, [activeId]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      act.step(event.key === 'ArrowDown' ? 1 : -1);
    }
  };
  return (
    <section className="list-scroll" ref={ref} aria-label={title} aria-busy={isLoading} onKeyDown={onKeyDown}>
      {error && <p className="error-box">{error}</p>}
      {!isLoading && !error && rows.length === 0 && cursor === null && source && <Empty source={source} />}
      <ul className="rows" style={{ height: count * ROW_HEIGHT }}>
        {drawn.map(([index, row]) => (
          <ListRow
            key={row.threadId}
            row={row}
            index={index}
            count={cursor === null && firstRow === 0 ? count : -1}
            isActive={row.threadId === activeId}
            isTabStop={index === tabStop}
            isSelected={selected.has(row.threadId)}
            isOutgoing={isOutgoing}
          />
        ))}
        {waiting.map((index) => (
          <RowPlaceholder key={index} index={index} />
        ))}
      </ul>
      {isLoading && waiting.length === 0 && (
        <p className="muted loading">{cursor === null ? 'Loading…' : 'Loading more…'}</p>
      )}
    </section>
  );
}
