/** Maps the folders, flags and labels of another IMAP server to ours. Pure. */
import { cleanLabels, type MailMarks, toGmailMarks } from './foreign-marks.ts';

/** A folder as LIST describes it (RFC 3501 §7.2.2, RFC 6154). */
export interface RemoteFolder {
  readonly path: string;
  readonly delimiter: string;
  readonly flags: ReadonlySet<string>;
  /** `\Inbox`, `\Sent`, `\Trash` and so on. */
  readonly specialUse?: string | undefined;
}

export interface PlannedFolder {
  readonly path: string;
  /** Our folder for its messages, by name. */
  readonly folder: string;
  readonly labels: readonly string[];
  /** Whether the folder and labels of a message are read from its Gmail labels. */
  readonly byGmailLabels: boolean;
}

const NAME_LENGTH_MAX = 100;
const DEPTH_MAX = 10;
const OUR_NAMES: Readonly<Record<string, string>> = {
  '\\Inbox': 'Inbox',
  '\\Sent': 'Sent',
  '\\Trash': 'Trash',
  '\\Junk': 'Junk',
  '\\Archive': 'Archive',
};
/** Views, whose messages are in other folders too. */
const VIEWS: ReadonlySet<string> = new Set(['\\All', '\\Flagged', '\\Important']);
/** Our folders that take no imported messages. Drafts are saved otherwise; the others are views. */
const CLOSED = new Set(['drafts', 'all', 'flagged']);
const DRAFTS = { folder: 'Archive', labels: ['Drafts'] };

/**
 * Selects the folders to pull, the Inbox first.
 * @param hasGmailLabels whether the server has X-GM-EXT-1. Then "All Mail" has each message once, with its labels; only Spam and
 * Trash are beside it.
 */
export function planFolders(list: readonly RemoteFolder[], hasGmailLabels: boolean): PlannedFolder[] {
  const selectable = list.filter(({ flags }) => !flags.has('\\Noselect') && !flags.has('\\NonExistent'));
  const all = hasGmailLabels ? selectable.find(({ specialUse }) => specialUse === '\\All') : undefined;
  if (all) {
    const others = selectable.filter(({ specialUse }) => specialUse === '\\Junk' || specialUse === '\\Trash');
    return [{ path: all.path, folder: 'Archive', labels: [], byGmailLabels: true }, ...others.map(planFolder)];
  }
  const planned = selectable.filter(({ specialUse = '' }) => !VIEWS.has(specialUse)).map(planFolder);
  return planned.sort((a, b) => Number(b.folder === 'Inbox') - Number(a.folder === 'Inbox'));
}

function planFolder({ path, delimiter, specialUse = '' }: RemoteFolder): PlannedFolder {
  const plan = { path, folder: OUR_NAMES[specialUse] ?? '', labels: [], byGmailLabels: false };
  if (specialUse === '\\Drafts') return { ...plan, ...DRAFTS };
  if (plan.folder !== '') return plan;
  const parts = (delimiter === '' ? [path] : path.split(delimiter)).map(cleanName).filter((part) => part !== '');
  // Some servers keep all folders below the Inbox.
  const own = parts.length > 1 && parts[0]?.toUpperCase() === 'INBOX' ? parts.slice(1) : parts;
  const folder = own.slice(0, DEPTH_MAX).join('/') || 'Archive';
  return CLOSED.has(folder.toLowerCase()) ? { ...plan, ...DRAFTS } : { ...plan, folder };
}

const cleanName = (part: string): string =>
  part
    .replace(/[\p{Cc}/]+/gu, ' ')
    .trim()
    .slice(0, NAME_LENGTH_MAX)
    .trim();

/** Keywords that say something about the message to programs, not to people. */
const MACHINE_KEYWORD = /^(?:[\\$]|(?:non-?junk|junk|not-?junk)$)/i;

/** @param flags flags and keywords of the message. @param gmailLabels its labels, if the server has them. */
export function toPulledMarks(
  plan: PlannedFolder,
  flags: ReadonlySet<string>,
  gmailLabels: ReadonlySet<string>,
): MailMarks {
  const marks: MailMarks = plan.byGmailLabels
    ? toGmailMarks([...gmailLabels].map((label) => label.replace(/^\\/, '')))
    : { isRead: false, isFlagged: false, labels: [], folder: plan.folder };
  const keywords = [...flags].filter((flag) => !MACHINE_KEYWORD.test(flag));
  return {
    isRead: flags.has('\\Seen'),
    isFlagged: marks.isFlagged || flags.has('\\Flagged'),
    labels: cleanLabels([...plan.labels, ...marks.labels, ...keywords]),
    folder: flags.has('\\Deleted') ? 'Trash' : marks.folder,
  };
}
