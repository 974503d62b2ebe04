/** Commands as mail programs sent them to the bridge. Each capability that the bridge announces is used by one of them. */
import { expect, it } from 'vitest';
import { type Conversation, startConversation } from '../../support/bridge/conversation.ts';
import { ADDRESS, MemoryAccount, TOKEN } from '../../support/bridge/memory-account.ts';

const MAIL = 'From: bob@elsewhere.test\r\nSubject: one\r\nMessage-ID: <1@elsewhere.test>\r\n\r\nHello\r\n';
const PLAIN = Buffer.from(`\0${ADDRESS}\0${TOKEN}`).toString('base64');

interface ProgramSession {
  readonly program: string;
  /** Capabilities that these commands need. */
  readonly uses: readonly string[];
  /** Commands, and what their answers have. */
  readonly commands: readonly (readonly [command: string, answer: RegExp])[];
}

const SESSIONS: readonly ProgramSession[] = [
  {
    program: 'Thunderbird 153, with its preference use_condstore',
    uses: [
      'IMAP4rev1',
      'AUTH=PLAIN',
      'NAMESPACE',
      'ID',
      'LIST-EXTENDED',
      'SPECIAL-USE',
      'CONDSTORE',
      'UIDPLUS',
      'MOVE',
      'IDLE',
    ],
    commands: [
      [`authenticate PLAIN\r\n${PLAIN}`, /^\+ \r\nT OK/m],
      ['namespace', /NAMESPACE \(\(""/],
      ['ID ("name" "Thunderbird" "version" "153.8.0")', /\* ID/],
      ['list (subscribed) "" "*" return (special-use)', /\\Sent\) "\/" "Sent"/],
      ['list "" "INBOX"', /"INBOX"/],
      ['select "INBOX" (CONDSTORE)', /HIGHESTMODSEQ 3\]/],
      ['UID fetch 1:* (FLAGS) (CHANGEDSINCE 0)', /\* 2 FETCH .*MODSEQ/],
      [
        'UID fetch 2:3 (UID RFC822.SIZE FLAGS BODY.PEEK[HEADER.FIELDS (From To Cc Bcc Subject Date Message-ID Priority X-Priority References Newsgroups In-Reply-To Content-Type Reply-To Received)])',
        /\* 2 FETCH \(UID 3 RFC822\.SIZE \d+ FLAGS \(\)/,
      ],
      ['UID fetch 3 (UID RFC822.SIZE BODY.PEEK[])', /Hello/],
      [
        'UID fetch 3 (UID BODY.PEEK[HEADER.FIELDS (Content-Type Content-Transfer-Encoding)] BODY.PEEK[TEXT]<0.2048>)',
        /BODY\[TEXT\]<0>/,
      ],
      ['uid store 3 +Flags (\\Seen)', /FLAGS \(\\Seen\)/],
      ['uid store 3 +FLAGS ($label1)', /\$label1/],
      ['IDLE\r\nDONE', /^\+ idling\r\n[\s\S]*T OK/],
      ['uid SEARCH UNDELETED BODY "Hello"', /\* SEARCH 2 3/],
      ['uid copy 3 "Sent"', /T OK \[COPYUID/],
      ['uid move 3 "Trash"', /\* 2 EXPUNGE/],
      ['create "T&AOQ-st"', /T OK/],
      ['subscribe "T&AOQ-st"', /T OK/],
      ['rename "T&AOQ-st" "Trash/T&AOQ-st"', /T OK/],
      ['subscribe "Trash/T&AOQ-st"', /T OK/],
      ['unsubscribe "T&AOQ-st"', /T OK/],
      ['delete "Trash/T&AOQ-st"', /T OK/],
      ['unsubscribe "Trash/T&AOQ-st"', /T OK/],
      ['STATUS "Sent" (UIDNEXT MESSAGES UNSEEN RECENT)', /\(UIDNEXT \d+ MESSAGES 1 UNSEEN 0 RECENT 0\)/],
      [`append "Sent" (\\Seen) {${MAIL.length}}\r\n${MAIL}`, /^\+ Ready\r\n[\s\S]*APPENDUID/],
    ],
  },
  {
    program: 'imapflow 2.10',
    uses: ['ENABLE', 'LIST-STATUS', 'LITERAL-', 'CONDSTORE'],
    commands: [
      [`AUTHENTICATE PLAIN\r\n${PLAIN}`, /T OK/],
      ['ENABLE CONDSTORE', /\* ENABLED CONDSTORE/],
      [
        'LIST "" "*" RETURN (STATUS (MESSAGES UNSEEN HIGHESTMODSEQ) SPECIAL-USE CHILDREN SUBSCRIBED)',
        /\* STATUS "INBOX" \(MESSAGES 2 UNSEEN 2 HIGHESTMODSEQ 3\)/,
      ],
      ['SELECT INBOX', /T OK/],
      [`APPEND INBOX {${MAIL.length}+}\r\n${MAIL}`, /T OK \[APPENDUID/],
      ['FETCH 3 (ENVELOPE MODSEQ UID)', /ENVELOPE .*MODSEQ/],
      ['FETCH 1:* (FLAGS MODSEQ UID) (CHANGEDSINCE 3)', /^\* 3 FETCH/],
      ['STORE 1 (UNCHANGEDSINCE 99) +FLAGS (\\Seen)', /\\Seen/],
    ],
  },
  {
    program: 'mbsync 1.4',
    uses: ['SASL-IR', 'UIDPLUS'],
    commands: [
      [`AUTHENTICATE PLAIN ${Buffer.from(`${ADDRESS}\0${ADDRESS}\0${TOKEN}`).toString('base64')}`, /T OK/],
      ['LIST "" "*"', /INBOX/],
      ['SELECT "INBOX"', /UIDNEXT/],
      ['UID FETCH 1:3 (UID FLAGS)', /\* 2 FETCH \(UID 3/],
      ['UID STORE 2 +FLAGS.SILENT (\\Deleted)', /^T OK/],
      ['CHECK', /T OK/],
      [`APPEND "INBOX" {${MAIL.length}}\r\n${MAIL}`, /APPENDUID/],
      ['CLOSE', /T OK/],
    ],
  },
  {
    program: 'mutt 2.2',
    uses: ['ENABLE', 'CONDSTORE', 'IDLE'],
    commands: [
      [`AUTHENTICATE PLAIN ${Buffer.from(`${ADDRESS}\0${ADDRESS}\0${TOKEN}`).toString('base64')}`, /T OK/],
      ['ENABLE UTF8=ACCEPT', /\* ENABLED\r\n/],
      ['LIST "" ""', /"\/" ""/],
      ['SELECT "INBOX" (CONDSTORE)', /HIGHESTMODSEQ/],
      ['UID FETCH 1:3 (UID)', /\* 2 FETCH \(UID 3\)/],
      ['UID FETCH 1:3 (FLAGS) (CHANGEDSINCE 2)', /^\* 2 FETCH/],
      ['UID STORE 2:3 +FLAGS.SILENT (Old)', /T OK/],
      ['IDLE\r\nDONE', /T OK/],
    ],
  },
  {
    program: 'alpine 2.26, and imaplib',
    uses: ['UNSELECT'],
    commands: [
      [`LOGIN ${ADDRESS} ${TOKEN}`, /T OK/],
      ['SELECT INBOX', /T OK/],
      ['SEARCH UNANSWERED UNDELETED UNSEEN', /\* SEARCH 1 2/],
      [
        'FETCH 1:2 (UID ENVELOPE BODY.PEEK[HEADER.FIELDS (Newsgroups Content-MD5 resent-to List-Help)] INTERNALDATE RFC822.SIZE FLAGS)',
        /\* 2 FETCH \(UID 3 ENVELOPE/,
      ],
      ['STORE 2 +Flags (\\DELETED)', /\\Deleted/],
      ['UNSELECT', /T OK/],
      ['SELECT INBOX', /\* 2 EXISTS/],
      ['EXPUNGE', /\* 2 EXPUNGE/],
    ],
  },
];

async function start(): Promise<Conversation> {
  const memory = new MemoryAccount();
  memory.add(MAIL);
  memory.add(MAIL);
  return startConversation(memory);
}

it.each(SESSIONS)('$program', async ({ commands }) => {
  const ann = await start();
  for (const [command, expected] of commands) {
    const answer = await ann.run(command);
    expect([command, answer]).toEqual([command, expect.stringMatching(expected)]);
    expect([command, answer]).toEqual([command, expect.not.stringMatching(/^T (NO|BAD)/m)]);
  }
});

it('announces nothing else', async () => {
  const ann = await start();
  const before = /CAPABILITY (.*)\]/.exec(await ann.pipe.receive(/\r\n/))?.[1]?.split(' ') ?? [];
  const after = /CAPABILITY (.*)\]/.exec(await ann.run(`LOGIN ${ADDRESS} ${TOKEN}`))?.[1]?.split(' ') ?? [];
  expect(new Set([...before, ...after])).toEqual(new Set(SESSIONS.flatMap(({ uses }) => uses)));
});
