import { describe, expect, it } from 'vitest';
import { Accounts } from '../../../bridge/session/account.ts';
import { openConversation, startConversation } from '../../support/bridge/conversation.ts';
import { ADDRESS, MemoryAccount, TOKEN } from '../../support/bridge/memory-account.ts';

const MAIL =
  'From: "Bob B." <bob@elsewhere.test>\r\nTo: ann@example.test\r\nSubject: =?utf-8?q?gr=C3=BC=C3=9Fe?=\r\nDate: Fri, 2 Jan 2026 03:04:05 +0000\r\nMessage-ID: <1@x>\r\n\r\nHello Ann\r\n';
const MULTIPART =
  'From: bob@elsewhere.test\r\nSubject: two\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nfirst\r\n--b\r\nContent-Type: text/plain\r\nX-Two: 2\r\n\r\nsecond part\r\n--b--\r\n';

describe('log-in', () => {
  it('accepts an app token by LOGIN and by AUTHENTICATE PLAIN, with and without an initial response', async () => {
    const memory = new MemoryAccount();
    const plain = Buffer.from(`\0${ADDRESS}\0${TOKEN}`).toString('base64');
    expect(await startConversation(memory).run(`LOGIN ${ADDRESS} ${TOKEN}`)).toMatch(
      /T OK \[CAPABILITY IMAP4rev1 .*IDLE/,
    );
    expect(await startConversation(memory).run(`AUTHENTICATE PLAIN ${plain}`)).toContain('T OK');
    const slow = startConversation(memory);
    slow.pipe.send('a AUTHENTICATE PLAIN\r\n');
    await slow.pipe.receive(/^\+ \r\n/m);
    slow.pipe.send(`${plain}\r\n`);
    expect(await slow.pipe.receive(/^a .*\r\n/m)).toContain('a OK');
    const literal = startConversation(memory);
    literal.pipe.send(`a LOGIN {${ADDRESS.length}}\r\n`);
    await literal.pipe.receive(/^\+ .*\r\n/m);
    literal.pipe.send(`${ADDRESS} {${TOKEN.length}+}\r\n${TOKEN}\r\n`);
    expect(await literal.pipe.receive(/^a .*\r\n/m)).toContain('a OK');
  });
  it('refuses a password, another address, and everything before TLS from elsewhere', async () => {
    const memory = new MemoryAccount();
    const open = startConversation(memory);
    expect(await open.run('LOGIN ann@example.test "correct horse battery"')).toContain('T NO [AUTHENTICATIONFAILED]');
    expect(await open.run(`LOGIN eve@example.test ${TOKEN}`)).toContain('T NO [AUTHENTICATIONFAILED]');
    const far = startConversation(memory, { peer: { address: '192.0.2.1', isTls: false }, canStartTls: true });
    expect(await far.run('CAPABILITY')).toMatch(/STARTTLS LOGINDISABLED/);
    expect(await far.run(`LOGIN ${ADDRESS} ${TOKEN}`)).toContain('T NO [PRIVACYREQUIRED]');
    expect(await far.run('SELECT INBOX')).toContain('T NO');
  });
  it('throws away what came with STARTTLS, and then allows the log-in', async () => {
    const far = startConversation(new MemoryAccount(), {
      peer: { address: '192.0.2.1', isTls: false },
      canStartTls: true,
    });
    far.pipe.send('a STARTTLS\r\nb NOOP\r\n');
    expect(await far.pipe.receive(/^a OK.*\r\n/m)).toContain('a OK');
    const answer = await far.run(`LOGIN ${ADDRESS} ${TOKEN}`);
    expect(answer).toContain('T OK');
    expect(answer).not.toContain('b OK');
  });
  it('bounds the connections of a token', async () => {
    const memory = new MemoryAccount();
    const accounts = new Accounts({ server: 'https://tessera.test', network: memory.network });
    await openConversation(memory, null, { accounts, connectionsPerTokenMax: 1 });
    const second = startConversation(memory, { accounts, connectionsPerTokenMax: 1 });
    expect(await second.run(`LOGIN ${ADDRESS} ${TOKEN}`)).toContain('T NO [LIMIT]');
  });
});

describe('reading', () => {
  it('tells a mailbox on SELECT', async () => {
    const memory = new MemoryAccount();
    memory.add(MAIL, 'inbox', ['$seen', 'work']);
    memory.add(MAIL);
    const ann = await openConversation(memory, null);
    const answer = await ann.run('SELECT inbox');
    for (const line of [
      '* 2 EXISTS',
      '* OK [UIDVALIDITY 7]',
      '* OK [UNSEEN 2]',
      '* FLAGS (\\Seen \\Answered \\Flagged \\Deleted \\Draft work)',
      'T OK [READ-WRITE]',
    ])
      expect(answer).toContain(line);
    expect(await ann.run('SELECT nowhere')).toContain('T NO [NONEXISTENT]');
    expect(await ann.run('FETCH 1 FLAGS')).toContain('T BAD');
  });
  it('fetches envelopes, structures, headers and parts', async () => {
    const memory = new MemoryAccount();
    memory.add(MAIL);
    memory.add(MULTIPART, 'inbox', ['$seen']);
    const ann = await openConversation(memory);
    expect(await ann.run('FETCH 1 (UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE)')).toBe(
      `* 1 FETCH (UID 2 FLAGS () INTERNALDATE " 2-Jan-2026 03:04:05 +0000" RFC822.SIZE ${MAIL.length} ENVELOPE ("Fri, 2 Jan 2026 03:04:05 +0000" "=?utf-8?q?gr=C3=BC=C3=9Fe?=" (("Bob B." NIL "bob" "elsewhere.test")) (("Bob B." NIL "bob" "elsewhere.test")) (("Bob B." NIL "bob" "elsewhere.test")) ((NIL NIL "ann" "example.test")) NIL NIL NIL "<1@x>"))\r\nT OK FETCH completed\r\n`,
    );
    const two = await ann.run(
      'UID FETCH 3 (BODYSTRUCTURE BODY.PEEK[2] BODY.PEEK[2.MIME] BODY.PEEK[HEADER.FIELDS (SUBJECT)] BODY.PEEK[1]<1.3> BODY.PEEK[9])',
    );
    expect(two).toContain('BODY[2] {11}\r\nsecond part');
    expect(two).toContain('BODY[2.MIME] {38}\r\nContent-Type: text/plain\r\nX-Two: 2\r\n\r\n');
    expect(two).toContain('BODY[HEADER.FIELDS (SUBJECT)] {16}\r\nSubject: two\r\n\r\n');
    expect(two).toContain('BODY[1]<1> {3}\r\nirs');
    expect(two).toContain('BODY[9] NIL');
    expect(two).toContain('"MIXED" ("BOUNDARY" "b") NIL NIL NIL)');
  });
  it('marks a message as read when its text is fetched, but not with PEEK or EXAMINE', async () => {
    const memory = new MemoryAccount();
    memory.add(MAIL);
    const ann = await openConversation(memory, null);
    await ann.run('EXAMINE INBOX');
    expect(await ann.run('FETCH 1 RFC822')).not.toContain('\\Seen');
    await ann.run('SELECT INBOX');
    expect(await ann.run('FETCH 1 BODY.PEEK[]')).toBe(
      `* 1 FETCH (BODY[] {${MAIL.length}}\r\n${MAIL})\r\nT OK FETCH completed\r\n`,
    );
    expect(await ann.run('FETCH 1 BODY[TEXT]')).toBe(
      '* 1 FETCH (FLAGS (\\Seen) BODY[TEXT] {11}\r\nHello Ann\r\n)\r\nT OK FETCH completed\r\n',
    );
  });
  it('reads 500 envelopes, structures and headers with three requests', async () => {
    const memory = new MemoryAccount();
    for (let count = 0; count < 500; count++) memory.add(MAIL);
    const ann = await openConversation(memory);
    memory.requests.length = 0;
    const answer = await ann.run('FETCH 1:* (UID FLAGS ENVELOPE BODYSTRUCTURE BODY.PEEK[HEADER.FIELDS (REFERENCES)])');
    expect(answer.match(/^\* \d+ FETCH/gm)).toHaveLength(500);
    expect(memory.requests).toEqual(Array(3).fill('POST /v1/imap/fetch'));
  });
  it('searches by flags, sizes, days, sets and texts', async () => {
    const memory = new MemoryAccount();
    memory.add(MAIL, 'inbox', ['$seen', '$flagged']);
    memory.add(MULTIPART);
    const ann = await openConversation(memory);
    const find = async (program: string) => (await ann.run(`SEARCH ${program}`)).split('\r\n')[0];
    expect(await find('UNSEEN')).toBe('* SEARCH 2');
    expect(await find('OR FLAGGED UID 3')).toBe('* SEARCH 1 2');
    expect(await find('NOT (SEEN FLAGGED)')).toBe('* SEARCH 2');
    expect(await find('SINCE 2-Jan-2026 BEFORE 3-Jan-2026 1')).toBe('* SEARCH 1');
    expect(await find('SENTBEFORE 1-Jan-2026')).toBe('* SEARCH');
    expect(await find('TEXT Hello')).toBe('* SEARCH 1');
    expect(await find('UNSEEN SUBJECT two')).toBe('* SEARCH 2');
    expect(await ann.run('SEARCH CHARSET KOI8-R ALL')).toContain('[BADCHARSET');
    expect(await ann.run('SEARCH FROM')).toContain('T BAD');
  });
});

describe('changing', () => {
  it('stores flags and labels, silently or not', async () => {
    const memory = new MemoryAccount();
    memory.add(MAIL);
    const ann = await openConversation(memory);
    expect(await ann.run('STORE 1 +FLAGS (\\Seen $Forwarded Work)')).toMatch(
      /\* 1 FETCH \(UID 2 FLAGS \(\\Seen \$Forwarded work\)\)\r\nT OK/,
    );
    expect(await ann.run('STORE 1 -FLAGS.SILENT (\\Seen)')).toBe('T OK STORE completed\r\n');
    expect(await ann.run('UID STORE 2 FLAGS \\Flagged')).toContain('FLAGS (\\Flagged)');
    expect(await ann.run('NOOP')).toBe('T OK NOOP completed\r\n');
  });
  it('copies, moves and expunges with the new UIDs', async () => {
    const memory = new MemoryAccount();
    for (let count = 0; count < 4; count++) memory.add(MAIL);
    const ann = await openConversation(memory);
    expect(await ann.run('COPY 1:2 Sent')).toContain('T OK [COPYUID 7 2:3 6:7]');
    expect(await ann.run('UID MOVE 2,4 Trash')).toMatch(
      /^\* OK \[COPYUID 7 2,4 9,11\] Moved\r\n\* 3 EXPUNGE\r\n\* 1 EXPUNGE\r\nT OK/,
    );
    await ann.run('STORE 1:2 +FLAGS.SILENT (\\Deleted)');
    expect(await ann.run('UID EXPUNGE 5')).toBe('* 2 EXPUNGE\r\nT OK EXPUNGE completed\r\n');
    expect(await ann.run('CLOSE')).toBe('T OK CLOSE completed\r\n');
    expect(await ann.run('STATUS INBOX (MESSAGES)')).toContain('(MESSAGES 0)');
    expect(await ann.run('COPY 1 Nowhere')).toContain('T BAD');
  });
  it('streams an APPEND, and refuses one that is too large or has no mailbox before it is sent', async () => {
    const memory = new MemoryAccount();
    const ann = await openConversation(memory);
    ann.pipe.send(`a APPEND Sent (\\Seen) " 2-Jan-2026 03:04:05 +0000" {${MAIL.length}}\r\n`);
    await ann.pipe.receive(/^\+ .*\r\n/m);
    ann.pipe.send(`${MAIL.slice(0, 50)}`);
    ann.pipe.send(`${MAIL.slice(50)}\r\nb NOOP\r\n`);
    expect(await ann.pipe.receive(/^b .*\r\n/m)).toMatch(/a OK \[APPENDUID 7 2\].*\r\nb OK/);
    expect(await ann.run('APPEND Sent {1000001}')).toContain('T NO [TOOBIG]');
    expect(await ann.run('APPEND Nowhere {10}')).toContain('T NO [TRYCREATE]');
    ann.pipe.send('c APPEND {4}\r\n');
    await ann.pipe.receive(/^\+ .*\r\n/m);
    ann.pipe.send(`Sent {${MAIL.length}+}\r\n${MAIL}\r\n`);
    expect(await ann.pipe.receive(/^c .*\r\n/m)).toContain('c OK [APPENDUID');
    memory.failure = 507;
    ann.pipe.send(`d APPEND Sent {${MAIL.length}+}\r\n${MAIL}\r\ne CAPABILITY\r\n`);
    expect(await ann.pipe.receive(/^e .*\r\n/m)).toMatch(/d NO [\s\S]*e OK/);
  });
  it('makes, renames, lists and deletes mailboxes with names of all characters', async () => {
    const memory = new MemoryAccount();
    const ann = await openConversation(memory, null);
    await ann.run('CREATE "Gr&APw-n/A&-B"');
    await ann.run('SUBSCRIBE "Gr&APw-n/A&-B"');
    expect(await ann.run('LIST "" "*"')).toContain('* LIST (\\HasNoChildren) "/" "Gr&APw-n/A&-B"');
    expect(await ann.run('LIST "" %')).not.toContain('A&-B');
    expect(await ann.run('LSUB "" Gr*')).toContain('* LSUB');
    expect(await ann.run('LIST (SUBSCRIBED) "" "*" RETURN (SPECIAL-USE STATUS (MESSAGES UNSEEN))')).toMatch(
      /\* LIST \(\\Subscribed \\HasNoChildren \\Sent\) "\/" "Sent"\r\n\* STATUS "Sent" \(MESSAGES 0 UNSEEN 0\)/,
    );
    await ann.run('CREATE Gr&APw-n');
    expect(await ann.run('DELETE Gr&APw-n')).toContain('T NO [HASCHILDREN]');
    expect(await ann.run('RENAME "Gr&APw-n/A&-B" other')).toContain('T OK');
    expect(await ann.run('SELECT "Gr&APw-n/A&-B"')).toContain('T NO [NONEXISTENT]');
    expect(await ann.run('UNSUBSCRIBE "Gr&APw-n/A&-B"')).toContain('T OK');
    expect(await ann.run('CREATE other')).toContain('T NO [ALREADYEXISTS]');
    expect(await ann.run('DELETE other')).toContain('T OK');
    expect(await ann.run('CREATE other')).toContain('T OK');
    expect(await ann.run('SELECT other')).toContain('T OK');
    expect(await ann.run('DELETE other')).toContain('T OK');
    expect(await ann.run('DELETE INBOX')).toContain('T NO [CANNOT]');
    expect(await ann.run('LIST "" ""')).toContain('* LIST (\\Noselect) "/" ""');
  });
});

describe('changes of others', () => {
  it('come during IDLE and with NOOP, and EXPUNGE waits while numbers must stay', async () => {
    const memory = new MemoryAccount();
    const first = memory.add(MAIL);
    const second = memory.add(MAIL);
    const ann = await openConversation(memory);
    ann.pipe.send('i IDLE\r\n');
    await ann.pipe.receive(/^\+ idling\r\n/m);
    memory.add(MAIL);
    expect(await ann.pipe.receive(/EXISTS\r\n/)).toBe('* 3 EXISTS\r\n');
    memory.mark(second, ['$flagged']);
    expect(await ann.pipe.receive(/FETCH.*\r\n/)).toBe('* 2 FETCH (UID 3 FLAGS (\\Flagged))\r\n');
    ann.pipe.send('DONE\r\n');
    await ann.pipe.receive(/^i OK.*\r\n/m);
    memory.remove(first);
    await ann.run('NAMESPACE');
    memory.remove(second);
    expect(await ann.run('FETCH 1 FLAGS')).not.toMatch(/^\* \d+ EXPUNGE/m);
    expect(await ann.run('NOOP')).toContain('EXPUNGE');
    expect(await ann.run('FETCH 2 FLAGS')).toContain('T BAD');
  });
  it('follow one socket for all connections, and go on after it ended', async () => {
    const memory = new MemoryAccount();
    const accounts = new Accounts({ server: 'https://tessera.test', network: memory.network });
    const ann = await openConversation(memory, 'INBOX', { accounts });
    const other = await openConversation(memory, 'INBOX', { accounts });
    expect(memory.sockets).toBe(1);
    for (const { pipe } of [ann, other]) {
      pipe.send('i IDLE\r\n');
      await pipe.receive(/^\+ idling\r\n/m);
    }
    memory.dropSockets();
    memory.add(MAIL);
    expect(await ann.pipe.receive(/EXISTS\r\n/)).toContain('* 1 EXISTS');
    expect(await other.pipe.receive(/EXISTS\r\n/)).toContain('* 1 EXISTS');
    ann.pipe.end();
    other.pipe.end();
    await Promise.all([ann.ended, other.ended]);
    expect(memory.sockets).toBe(0);
  });
});

describe('CONDSTORE', () => {
  it('tells change numbers once it is enabled, and only what changed since', async () => {
    const memory = new MemoryAccount();
    memory.add(MAIL);
    const second = memory.add(MAIL);
    const ann = await openConversation(memory, null);
    expect(await ann.run('SELECT INBOX (CONDSTORE)')).toContain('* OK [HIGHESTMODSEQ 3]');
    memory.mark(second, ['$seen']);
    await ann.run('NOOP');
    expect(await ann.run('UID FETCH 1:* (FLAGS) (CHANGEDSINCE 3)')).toBe(
      '* 2 FETCH (UID 3 FLAGS (\\Seen) MODSEQ (4))\r\nT OK FETCH completed\r\n',
    );
    expect(await ann.run('STORE 1 +FLAGS.SILENT (\\Seen)')).toContain('* 1 FETCH (UID 2 MODSEQ (5))');
    expect(await ann.run('SEARCH MODSEQ 5')).toContain('* SEARCH 1 (MODSEQ 5)');
    expect(await ann.run('ENABLE CONDSTORE')).toContain('* ENABLED CONDSTORE');
  });
});

describe('bad input', () => {
  it('answers BAD and goes on, until there is too much of it', async () => {
    const ann = await openConversation(new MemoryAccount());
    expect(await ann.run('FETCH')).toContain('T BAD');
    expect(await ann.run('FETCH 1 (')).toContain('T BAD');
    expect(await ann.run('NOSUCH')).toContain('T BAD');
    expect(await ann.run('STORE 1 FLAGS')).toContain('T BAD');
    expect(await ann.run('LOGIN {9000}')).toContain('T BAD');
    ann.pipe.send('\0\xff(\r\n'.repeat(30));
    await ann.ended;
    expect(await ann.pipe.receive(/$^/)).toContain('* BYE Too many invalid commands');
  });
  it('ends at long lines, large literals without a handshake, and silence', async () => {
    const long = startConversation(new MemoryAccount());
    long.pipe.send('a'.repeat(9_000));
    await long.ended;
    expect(await long.pipe.receive(/$^/)).toContain('* BYE Line too long');
    const literal = startConversation(new MemoryAccount());
    literal.pipe.send('a LOGIN {5000+}\r\n');
    await literal.ended;
    expect(await literal.pipe.receive(/$^/)).toContain('* BYE Literal too large');
    const silent = startConversation(new MemoryAccount(), { autologoutMs: 1 });
    await silent.ended;
    expect(await silent.pipe.receive(/$^/)).toContain('* BYE Autologout');
  });
});
