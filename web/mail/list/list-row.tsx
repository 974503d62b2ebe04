/** One row of the list: a conversation with its people, its newest message, and actions on it. */
import { Avatar } from '../../shared/avatar.tsx';
import { formatDateTime, formatFull, formatWhen } from '../../shared/format.ts';
import { IconButton } from '../../shared/icon-button.tsx';
import { Icon } from '../../shared/icons.tsx';
import { useStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { act, openSnooze } from '../actions/actions.ts';
import { threadHash } from '../actions/addresses.ts';
import { describeAddress } from '../model/addresses.ts';
import type { Summary } from '../model/api.ts';
import { mailbox } from '../model/mailbox.ts';
import { describeRow, ownReplies } from '../model/own-replies.ts';
import type { Row } from '../model/rows.ts';
import { session } from '../model/session.ts';
import { draggable } from './drag.ts';
import { FoundWords } from './found-words.tsx';
import { useSwipe } from './gestures.ts';

const { list } = mailTexts;
const NO_REPLIES: readonly Summary[] = [];
const NO_ADDRESSES: readonly string[] = [];

/** Buttons for the most frequent actions, without opening the conversation. */
function RowActions({ row }: { row: Row }) {
  return (
    <span className="row-actions">
      <IconButton icon="archive" label={list.archive} keys="e" tabIndex={-1} onClick={() => act.archive([row])} />
      <IconButton icon="trash" label={list.delete} keys="#" tabIndex={-1} onClick={() => act.trash([row])} />
      <IconButton
        icon="snooze"
        label={list.snooze}
        keys="b"
        tabIndex={-1}
        onClick={() => {
          act.activate(row);
          openSnooze();
        }}
      />
      <IconButton
        icon={row.isUnread ? 'read' : 'unread'}
        label={row.isUnread ? list.markRead : list.markUnread}
        keys="U"
        tabIndex={-1}
        onClick={() => act.toggleRead([row])}
      />
    </span>
  );
}

interface Props {
  row: Row;
  index: number;
  count: number;
  top: number;
  isActive: boolean;
  /** Roving tab index: the Tab key stops at only one row of the list. */
  isTabStop: boolean;
  isSelected: boolean;
  isOutgoing: boolean;
}

export function ListRow({ row, index, count, top, isActive, isTabStop, isSelected, isOutgoing }: Props) {
  const swipe = useSwipe(row);
  const replies = useStore(ownReplies, (state) => state.threads.get(row.threadId) ?? NO_REPLIES);
  const own = useStore(session, (state) => state.profile?.addresses ?? NO_ADDRESSES);
  const search = useStore(mailbox, ({ source }) => (source?.kind === 'search' ? source.q : ''));
  const newest = row.messages[0];
  if (!newest) return null;
  const people = describeRow(row, replies, own, list.me);
  const to = newest.to.map(describeAddress).join(', ');
  const who = isOutgoing ? newest.to[0] : (people.other ?? newest.from);
  const classes = ['message-row', row.isUnread ? 'unread' : '', isActive ? 'active' : '', isSelected ? 'selected' : ''];
  return (
    <li
      className={classes.filter(Boolean).join(' ')}
      aria-posinset={index + 1}
      aria-setsize={count}
      aria-current={isActive ? 'true' : undefined}
      data-left={list.archive}
      data-right={row.isUnread ? list.markRead : list.markUnread}
      style={{ top }}
      {...swipe}
      {...draggable(row)}
    >
      <span className="row-mark">
        <Avatar name={who ? describeAddress(who) : '?'} id={who?.email ?? ''} />
        <input
          type="checkbox"
          checked={isSelected}
          onChange={() => undefined}
          onClick={(event) => act.select(row, event.shiftKey)}
          aria-label={fill(list.select, { subject: newest.subject || list.noSubject })}
          tabIndex={-1}
        />
      </span>
      <a
        href={threadHash(row.threadId)}
        className="row-body"
        data-thread={row.threadId}
        tabIndex={isTabStop ? 0 : -1}
        draggable={false}
        onClick={(event) => {
          // Ctrl and a click open a new tab, as with every link.
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          event.preventDefault();
          if (event.shiftKey) act.select(row, true);
          else act.open(row);
        }}
      >
        <span className="row-line">
          {row.isUnread && <span className="visually-hidden">{list.unread} </span>}
          {people.isAnsweredLast && !isOutgoing && (
            <span className="mark answered" role="img" aria-label={list.answered}>
              <Icon name="answered" size={14} />
            </span>
          )}
          <span className="people ellipsis" dir="auto">
            {isOutgoing ? fill(list.to, { people: to || list.nobody }) : people.names.join(', ')}
          </span>
          {people.count > 1 && <span className="count">{people.count}</span>}
          {newest.snoozed_until ? (
            <time className="when snoozed" dateTime={newest.snoozed_until}>
              <Icon name="snooze" size={13} /> {fill(list.until, { when: formatDateTime(newest.snoozed_until) })}
            </time>
          ) : (
            <time className="when" dateTime={newest.received_at} title={formatFull(newest.received_at)}>
              {formatWhen(newest.received_at)}
            </time>
          )}
        </span>
        <span className="row-line">
          <span className="subject ellipsis" dir="auto">
            {newest.subject || list.noSubject}
          </span>
          {row.labels.map((label) => (
            <span key={label} className="badge">
              {label}
            </span>
          ))}
          {newest.has_attachments && (
            <span className="mark" role="img" aria-label={list.hasFiles}>
              <Icon name="clip" size={15} />
            </span>
          )}
        </span>
        <span className="preview ellipsis" dir="auto">
          <FoundWords text={newest.snippet ?? newest.preview ?? ''} search={search} />
        </span>
      </a>
      <RowActions row={row} />
      <button
        type="button"
        className={row.isFlagged ? 'star on' : 'star'}
        aria-label={row.isFlagged ? list.unflag : list.flag}
        aria-pressed={row.isFlagged}
        data-tip={row.isFlagged ? list.unflag : list.flag}
        data-keys="s"
        tabIndex={-1}
        onClick={() => act.toggleFlag([row])}
      >
        <Icon name="flagged" />
      </button>
    </li>
  );
}
