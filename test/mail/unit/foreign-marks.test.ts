import { describe, expect, it } from 'vitest';
import { readForeignMarks } from '../../../workers/mail/domain/foreign-marks.ts';

const gmail = (labels: string) => readForeignMarks(`X-GM-THRID: 1\nX-Gmail-Labels: ${labels}\nSubject: x\n\nbody\n`);

describe('labels of Takeout', () => {
  it.each([
    ['Inbox,Opened', { isRead: true, isFlagged: false, labels: [], folder: 'Inbox' }],
    ['Inbox,Unread,Starred', { isRead: false, isFlagged: true, labels: [], folder: 'Inbox' }],
    ['Trash,Unread,Inbox', { isRead: false, labels: [], folder: 'Trash' }],
    ['Spam', { isRead: true, folder: 'Junk' }],
    ['Sent,Opened,Work', { isRead: true, labels: ['Work'], folder: 'Sent' }],
    ['Inbox,Sent', { folder: 'Inbox' }],
    ['Archived,Important,"Category Updates"', { labels: ['Important', 'Category Updates'], folder: 'Archive' }],
    ['Draft', { labels: ['Drafts'], folder: 'Archive' }],
    ['Work/Project A', { labels: ['Work/Project A'], folder: 'Archive' }],
    ['"Work, old",Inbox', { labels: ['Work, old'], folder: 'Inbox' }],
    ['Inbox,\n "Next line",\n\tLast', { labels: ['Next line', 'Last'], folder: 'Inbox' }],
    ['=?UTF-8?Q?Bo=C3=AEte_de_r=C3=A9ception,Non_lus?=', { isRead: false, folder: 'Inbox', labels: [] }],
    ['=?UTF-8?Q?Entw=C3?=\n =?UTF-8?Q?=BCrfe?=', { labels: ['Drafts'], folder: 'Archive' }],
    ['=?UTF-8?B?UG9zdGVpbmdhbmcsR2XDtmZmbmV0?=', { isRead: true, folder: 'Inbox', labels: [] }],
    ['', { isRead: true, labels: [], folder: 'Archive' }],
    [',,"",', { labels: [], folder: 'Archive' }],
    ['"not closed,Unread', { isRead: false, labels: ['not closed'] }],
    ['Work,Work', { labels: ['Work'] }],
    [`Inbox,${'x'.repeat(300)}`, { labels: ['x'.repeat(100)] }],
    ['Bad\x01name', { labels: ['Bad name'] }],
  ])('%j', (labels, expected) => expect(gmail(labels)).toMatchObject(expected));

  it('are read from the header only', () => {
    expect(readForeignMarks('Subject: x\n\nX-Gmail-Labels: Trash\n')).toMatchObject({ folder: null, labels: [] });
  });
});

describe('flags of Thunderbird', () => {
  it.each([
    ['X-Mozilla-Status: 0001', { isRead: true, isFlagged: false, folder: null }],
    ['X-Mozilla-Status: 0005', { isRead: true, isFlagged: true, folder: null }],
    ['X-Mozilla-Status: 0000', { isRead: false, isFlagged: false }],
    ['X-Mozilla-Status: 1009', { isRead: true, folder: 'Trash' }],
    ['X-Mozilla-Status: zzzz', { isRead: false, folder: null }],
    ['X-Mozilla-Status:', { isRead: false }],
    ['X-Mozilla-Keys: $label1 work   ', { labels: ['$label1', 'work'] }],
  ])('%s', (field, expected) => expect(readForeignMarks(`${field}\nSubject: x\n\n`)).toMatchObject(expected));
});
