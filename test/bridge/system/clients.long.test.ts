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
import { hasClient, hasPythonModules } from '../../support/real-client.ts';

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

describe.skipIf(!hasClient('alpine') || !hasPythonModules('pexpect'))('alpine', () => {
  it('flags and files a message, sends one, and expunges', async () => {
    await put('one');
    const script = join(import.meta.dirname, '../../support/bridge/alpine.py');
    const ports = [world.bridge.imapPort, world.bridge.smtpPort].map(String);
    await run('/usr/bin/python3', script, home, ann.email, ann.appToken, ...ports, 'one');
    const [one] = await listFolder(world.server, ann, 'archive');
    expect(one).toMatchObject({ subject: 'one', is_flagged: true });
    await awaitMessage(world.server, ann, 'inbox', 'by-alpine');
    expect([await subjectsIn('inbox'), await subjectsIn('sent')]).toEqual([['by-alpine'], ['by-alpine']]);
  });
});

describe.skipIf(!hasClient('claws-mail', 'xvfb-run', 'dbus-run-session'))('claws-mail', () => {
  it('reads the folders, marks and files new mail by its filters', async () => {
    await put('one');
    await put('two');
    mkdirSync(join(home, '.claws-mail'));
    const servers = `receive_server=localhost\nset_imapport=1\nimap_port=${world.bridge.imapsPort}\nssl_imap=1\nimap_auth_method=0`;
    write(
      '.claws-mail/accountrc',
      `[Account: 1]\naccount_name=a\nis_default=1\nname=Ann\naddress=${ann.email}\nprotocol=1\nuser_id=${ann.email}\n${servers}\nfilter_on_recv=1\nfilterhook_on_recv=1\nreceive_at_get_all=1\n`,
    );
    write('.claws-mail/passwordstorerc', `[account:1]\nrecv ${ann.appToken}\n`);
    write('.claws-mail/clawsrc', '[Common]\nconfig_version=3\ncheck_on_startup=1\nskip_ssl_cert_check=1\n');
    write(
      '.claws-mail/matcherrc',
      '[global]\nenabled rulename "two" subject matchcase "two" mark mark_as_read move "#imap/a/Archive"\nenabled rulename "one" subject matchcase "one" mark\n',
    );
    const items = ['inbox INBOX', 'normal Archive', 'outbox Sent', 'draft Drafts', 'trash Trash'].map((line) => {
      const [type, name] = line.split(' ');
      return `<folderitem type="${type}" name="${name}" path="${name}" account_id="1"/>`;
    });
    write(
      '.claws-mail/folderlist.xml',
      `<?xml version="1.0" encoding="UTF-8"?>\n<folderlist><folder type="imap" name="a" account_id="1">${items.join('')}</folder></folderlist>\n`,
    );
    const claws = spawn('dbus-run-session', ['--', 'xvfb-run', '-a', 'claws-mail'], {
      env: { ...process.env, HOME: home },
      stdio: 'ignore',
      detached: true,
    });
    const exited = new Promise((resolve) => claws.once('exit', resolve));
    try {
      const two = await awaitMessage(world.server, ann, 'archive', 'two');
      expect(two).toMatchObject({ is_read: true, is_flagged: true });
      await expect.poll(() => subjectsIn('inbox')).toEqual(['one']);
      const one = await awaitMessage(world.server, ann, 'inbox', 'one');
      expect(one).toMatchObject({ is_read: false, is_flagged: true });
    } finally {
      process.kill(-(claws.pid ?? 0), 'SIGTERM');
      await exited;
    }
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
