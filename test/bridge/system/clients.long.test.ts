/** Mail programs of Debian against a bridge and a running server. Each is left out where it is not installed. */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BridgeWorld, type Person, startBridgeWorld } from '../../support/bridge/bridge-world.ts';
import { toMail } from '../../support/bridge/mails.ts';
import { awaitMessage, importWhole, listFolder } from '../../support/mail/mail.ts';
import { hasClient } from '../../support/real-client.ts';

const execute = promisify(execFile);
let world: BridgeWorld;
let ann: Person;
let home: string;
let names = 0;

beforeAll(async () => {
  world = await startBridgeWorld();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  ann = await world.addPerson(`ann${++names}`);
  home = mkdtempSync(join(tmpdir(), 'tessera-program-'));
  return () => rmSync(home, { recursive: true, force: true });
});

const put = (subject: string) => importWhole(world.server, ann.token, toMail(subject), 'message/rfc822');
const subjectsIn = async (role: string) =>
  (await listFolder(world.server, ann, role)).map(({ subject }) => subject).sort();
const run = (command: string, ...args: string[]) =>
  execute(command, args, { cwd: home, env: { ...process.env, HOME: home, TERM: 'dumb' }, timeout: 120_000 });
function write(name: string, text: string): string {
  const path = join(home, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}
/** All messages of the Maildirs below a folder, by subject. */
function readMaildir(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && /\/(?:cur|new)$/.test(entry.parentPath),
  );
  return files
    .map((entry) => /^Subject: (.*?)\r?$/m.exec(readFileSync(join(entry.parentPath, entry.name), 'utf8'))?.[1] ?? '')
    .sort();
}

describe.skipIf(!hasClient('mbsync'))('mbsync', () => {
  const configure = () =>
    write(
      'mbsyncrc',
      `IMAPAccount a\nHost localhost\nPort ${world.bridge.imapsPort}\nSSLType IMAPS\nCertificateFile ${world.certificatePath}\nUser ${ann.email}\nPass ${ann.appToken}\n\nIMAPStore far\nAccount a\n\nMaildirStore near\nPath ${home}/mail/\nInbox ${home}/mail/INBOX\nSubFolders Verbatim\n\nChannel c\nFar :far:\nNear :near:\nPatterns *\nCreate Both\nExpunge Both\nSyncState *\n`,
    );
  it('copies both ways, with flags, folders and deletions', async () => {
    const config = configure();
    mkdirSync(join(home, 'mail'));
    for (const subject of ['one', 'two', 'three']) await put(subject);
    await run('mbsync', '-c', config, '-a');
    expect(readMaildir(join(home, 'mail/INBOX'))).toEqual(['one', 'three', 'two']);
    // Here: one is read, two is deleted, four is new. There: three is flagged, five arrives.
    const cur = join(home, 'mail/INBOX/cur');
    const fresh = join(home, 'mail/INBOX/new');
    for (const folder of [cur, fresh])
      for (const name of readdirSync(folder)) {
        const text = readFileSync(join(folder, name), 'utf8');
        if (text.includes('Subject: two')) rmSync(join(folder, name));
        if (text.includes('Subject: one')) {
          rmSync(join(folder, name));
          writeFileSync(join(cur, `${name.split(':')[0]}:2,S`), text);
        }
      }
    writeFileSync(join(fresh, '4.test.host'), toMail('four').replaceAll('\r\n', '\n'));
    await put('five');
    const three = (await listFolder(world.server, ann, 'inbox')).find(({ subject }) => subject === 'three');
    await world.server.call('PATCH', `/v1/messages/${three.id}`, { is_flagged: true }, ann.token);
    await run('mbsync', '-c', config, '-a');
    expect(await subjectsIn('inbox')).toEqual(['five', 'four', 'one', 'three']);
    expect(readMaildir(join(home, 'mail/INBOX'))).toEqual(['five', 'four', 'one', 'three']);
    const one = (await listFolder(world.server, ann, 'inbox')).find(({ subject }) => subject === 'one');
    expect(one.is_read).toBe(true);
    expect(
      readdirSync(cur)
        .concat(readdirSync(fresh))
        .some((name) => /:2,[A-Z]*F/.test(name)),
    ).toBe(true);
    const { stdout, stderr } = await run('mbsync', '-V', '-c', config, '-a');
    expect(stdout + stderr).not.toMatch(/error|warning/i);
  });
});

describe.skipIf(!hasClient('offlineimap'))('offlineimap', () => {
  it('makes a Maildir of the account, and returns what changes in it', async () => {
    await put('one');
    const config = write(
      'offlineimaprc',
      `[general]\naccounts = a\nui = basic\n[Account a]\nlocalrepository = l\nremoterepository = r\n[Repository l]\ntype = Maildir\nlocalfolders = ${home}/mail\n[Repository r]\ntype = IMAP\nremotehost = localhost\nremoteport = ${world.bridge.imapsPort}\nssl = yes\nsslcacertfile = ${world.certificatePath}\nremoteuser = ${ann.email}\nremotepass = ${ann.appToken}\nauth_mechanisms = PLAIN, LOGIN\n`,
    );
    await run('offlineimap', '-c', config, '-o');
    expect(readMaildir(join(home, 'mail'))).toEqual(['one']);
    const inbox = join(home, 'mail/INBOX');
    writeFileSync(join(inbox, 'new/2.test.host'), toMail('two').replaceAll('\r\n', '\n'));
    await run('offlineimap', '-c', config, '-o');
    expect(await subjectsIn('inbox')).toEqual(['one', 'two']);
  });
});

describe.skipIf(!hasClient('fetchmail'))('fetchmail', () => {
  it('fetches new mail once, and deletes it', async () => {
    await put('one');
    await put('two');
    const config = write(
      'fetchmailrc',
      `poll localhost service ${world.bridge.imapsPort} protocol IMAP user "${ann.email}" password "${ann.appToken}" ssl sslcertfile "${world.certificatePath}" mda "cat >> ${home}/mbox"\n`,
    );
    await run('fetchmail', '-f', config, '--nosyslog', '-v');
    const got = readFileSync(join(home, 'mbox'), 'utf8');
    expect(
      got
        .match(/^Subject: .*/gm)
        ?.map((line) => line.trim())
        .sort(),
    ).toEqual(['Subject: one', 'Subject: two']);
    // Exit status 1 says that there is no new mail.
    await expect(run('fetchmail', '-f', config, '--nosyslog')).rejects.toMatchObject({ code: 1 });
  });
});

describe.skipIf(!hasClient('mutt'))('mutt', () => {
  it('opens the Inbox, files a message and saves a copy', async () => {
    await put('one');
    const config = write(
      'muttrc',
      `set imap_user="${ann.email}"\nset imap_pass="${ann.appToken}"\nset folder="imaps://localhost:${world.bridge.imapsPort}/"\nset spoolfile="+INBOX"\nset certificate_file="${world.certificatePath}"\nset ssl_verify_host=no\nset confirmappend=no\nset delete=yes\nset move=no\nset quit=yes\nset header_cache="${home}/cache"\nset wait_key=no\n` +
        'push "<flag-message><copy-message>=Archive<enter><save-message>=Sent<enter><sync-mailbox><quit>"\n',
    );
    await run('script', '-qec', `mutt -F ${config}`, '/dev/null');
    expect([await subjectsIn('inbox'), await subjectsIn('archive'), await subjectsIn('sent')]).toEqual([
      [],
      ['one'],
      ['one'],
    ]);
  });
});

describe.skipIf(!hasClient('msmtp'))('msmtp', () => {
  it('sends after STARTTLS and over TLS', async () => {
    for (const [name, port, starttls] of [
      ['starttls', world.bridge.smtpPort, 'on'],
      ['tls', world.bridge.smtpsPort, 'off'],
    ] as const) {
      const config = write(
        `msmtprc-${name}`,
        `account default\nhost localhost\nport ${port}\nauth on\ntls on\ntls_starttls ${starttls}\ntls_trust_file ${world.certificatePath}\nuser ${ann.email}\npassword ${ann.appToken}\nfrom ${ann.email}\n`,
      );
      const child = spawn('msmtp', ['-C', config, ann.email], {
        env: { ...process.env, HOME: home },
        stdio: ['pipe', 'inherit', 'inherit'],
      });
      child.stdin?.end(toMail(`by-${name}`).replace('bob@elsewhere.test', ann.email).replaceAll('\r\n', '\n'));
      expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0);
      await awaitMessage(world.server, ann, 'inbox', `by-${name}`);
      expect(await subjectsIn('sent')).toContain(`by-${name}`);
    }
  });
});
