import { describe, expect, it } from 'vitest';
import { planFolders, type RemoteFolder, toPulledMarks } from '../../../workers/mail/domain/pulled-folders.ts';

const folder = (path: string, specialUse?: string, flags: string[] = [], delimiter = '/'): RemoteFolder => ({
  path,
  delimiter,
  flags: new Set(flags),
  ...(specialUse === undefined ? {} : { specialUse }),
});
const plan = (list: RemoteFolder[], hasGmailLabels = false) =>
  planFolders(list, hasGmailLabels).map(({ path, folder: name, labels }) => [path, name, ...labels]);

describe('folders of another server', () => {
  it('become ours, by their special use or their path, the Inbox first', () => {
    const list = [
      folder('Entwürfe', '\\Drafts'),
      folder('Gesendet', '\\Sent'),
      folder('Work', undefined, ['\\Noselect']),
      folder('Work/2020'),
      folder('INBOX', '\\Inbox'),
      folder('Marked', '\\Flagged'),
      folder('Spam', '\\Junk'),
      folder('Drafts'),
    ];
    expect(plan(list)).toEqual([
      ['INBOX', 'Inbox'],
      ['Entwürfe', 'Archive', 'Drafts'],
      ['Gesendet', 'Sent'],
      ['Work/2020', 'Work/2020'],
      ['Spam', 'Junk'],
      ['Drafts', 'Archive', 'Drafts'],
    ]);
  });

  it('lose the Inbox above them, and what our names cannot have', () => {
    const deep = Array.from({ length: 12 }, (_, n) => n).join('.');
    const list = ['INBOX.Sent Items', 'INBOX.a/b', 'x..y', `${'n'.repeat(150)}`, deep].map((path) =>
      folder(path, undefined, [], '.'),
    );
    expect(plan(list).map(([, name]) => name)).toEqual([
      'Sent Items',
      'a b',
      'x/y',
      'n'.repeat(100),
      '0/1/2/3/4/5/6/7/8/9',
    ]);
  });

  it('of Gmail are read as All Mail, Spam and Trash, with labels', () => {
    const list = [
      folder('INBOX', '\\Inbox'),
      folder('[Gmail]/All Mail', '\\All'),
      folder('[Gmail]/Spam', '\\Junk'),
      folder('[Gmail]/Trash', '\\Trash'),
      folder('Work'),
    ];
    expect(plan(list, true).map(([path]) => path)).toEqual(['[Gmail]/All Mail', '[Gmail]/Spam', '[Gmail]/Trash']);
    // Gmail can hide All Mail from IMAP.
    const hidden = list.filter(({ specialUse }) => specialUse !== '\\All');
    expect(plan(hidden, true).map(([path]) => path)).toEqual(['INBOX', '[Gmail]/Spam', '[Gmail]/Trash', 'Work']);
  });
});

describe('marks of a message', () => {
  const marks = (flags: string[], labels: string[] = [], list = [folder('INBOX', '\\Inbox')], isGmail = false) => {
    const [first] = planFolders(list, isGmail);
    if (!first) throw new Error('no folder');
    return toPulledMarks(first, new Set(flags), new Set(labels));
  };

  it('are its flags, and its keywords as labels', () => {
    expect(marks(['\\Seen', '\\Answered', 'NonJunk', '$Forwarded', 'to do'])).toEqual({
      isRead: true,
      isFlagged: false,
      labels: ['to do'],
      folder: 'Inbox',
    });
    expect(marks(['\\Flagged', '\\Deleted'])).toMatchObject({ isRead: false, isFlagged: true, folder: 'Trash' });
  });

  it('are its labels at Gmail', () => {
    const all = [folder('[Gmail]/All Mail', '\\All')];
    const gmail = (flags: string[], labels: string[]) => marks(flags, labels, all, true);
    expect(gmail(['\\Seen'], ['\\Inbox', '\\Starred', 'Work/2020'])).toEqual({
      isRead: true,
      isFlagged: true,
      labels: ['Work/2020'],
      folder: 'Inbox',
    });
    expect(gmail([], ['\\Sent'])).toMatchObject({ isRead: false, folder: 'Sent', labels: [] });
    expect(gmail([], [])).toMatchObject({ folder: 'Archive' });
    expect(gmail([], ['\\Draft'])).toMatchObject({ folder: 'Archive', labels: ['Drafts'] });
  });
});
