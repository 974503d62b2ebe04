/** Thunderbird without a window, with a profile of its own that has one account, driven by Marionette. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../server.ts';
import { Marionette } from './marionette.ts';

export interface ThunderbirdOptions {
  readonly email: string;
  readonly appToken: string;
  /** Ports on 127.0.0.1 without TLS. */
  readonly imapPort: number;
  readonly smtpPort: number;
  readonly prefs?: Readonly<Record<string, string | number | boolean>>;
}

export interface Thunderbird {
  /** Runs the body of an asynchronous function inside Thunderbird, with the helpers of `HELPERS`. */
  // biome-ignore lint/suspicious/noExplicitAny: the result of a script that the test has written
  run(body: string, ...values: unknown[]): Promise<any>;
  stop(): Promise<void>;
}

/** What the scripts of the tests share. */
const HELPERS = `
const { MailServices } = ChromeUtils.importESModule('resource:///modules/MailServices.sys.mjs');
const server = MailServices.accounts.accounts[0].incomingServer;
const root = server.rootFolder;
const find = (name) => root.descendants.find((folder) => folder.name.toLowerCase() === name.toLowerCase());
const until = async (condition) => { for (;;) { const value = await condition(); if (value) return value; await wait(100); } };
const wait = (ms) => new Promise((resolve) => {
  const timer = Cc['@mozilla.org/timer;1'].createInstance(Ci.nsITimer);
  timer.initWithCallback(() => resolve(timer), ms, Ci.nsITimer.TYPE_ONE_SHOT);
});
const finished = (start) => new Promise((resolve, reject) => start({
  QueryInterface: ChromeUtils.generateQI(['nsIUrlListener', 'nsIMsgCopyServiceListener']),
  OnStartRunningUrl() {}, onStartRunningUrl() {},
  OnStopRunningUrl(url, status) { Components.isSuccessCode(status) ? resolve() : reject(new Error('url ' + url?.spec + ' ' + status.toString(16))); },
  onStartCopy() {}, onProgress() {}, setMessageKey() {}, getMessageId() { return null; },
  onStopCopy(status) { Components.isSuccessCode(status) ? resolve() : reject(new Error('copy ' + status.toString(16))); },
}));
// An update that Thunderbird has begun by itself calls no listener, so this one waits for a while at most.
const update = (folder) => Promise.race([wait(2000), finished((listener) =>
  folder.QueryInterface(Ci.nsIMsgImapMailFolder).updateFolderWithListener(null, listener))]);
const messages = (folder) => [...folder.messages];
const withSubject = (folder, subject) => messages(folder).find((header) => header.mime2DecodedSubject === subject);
const read = async (header) => {
  const uri = header.folder.getUriForMsg(header);
  const service = MailServices.messageServiceFromURI(uri);
  return new Promise((resolve, reject) => {
    let text = '';
    const input = Cc['@mozilla.org/scriptableinputstream;1'].createInstance(Ci.nsIScriptableInputStream);
    service.streamMessage(uri, {
      QueryInterface: ChromeUtils.generateQI(['nsIStreamListener']),
      onStartRequest() {},
      onStopRequest(request, status) { Components.isSuccessCode(status) ? resolve(text) : reject(new Error('stream ' + status.toString(16))); },
      onDataAvailable(request, stream, offset, count) { input.init(stream); text += input.read(count); },
    }, null, null, false, '');
  });
};
const copy = (header, target, isMove) =>
  finished((listener) => MailServices.copy.copyMessages(header.folder, [header], target, isMove, listener, null, false));
const compose = (subject, mode, to) => {
  const account = MailServices.accounts.defaultAccount;
  const identity = account.defaultIdentity;
  const fields = Cc['@mozilla.org/messengercompose/composefields;1'].createInstance(Ci.nsIMsgCompFields);
  fields.from = identity.email; fields.to = to; fields.subject = subject;
  const send = Cc['@mozilla.org/messengercompose/send;1'].createInstance(Ci.nsIMsgSend);
  return send.createAndSendMessage(null, identity, account.key, fields, false, false, Ci.nsIMsgSend[mode], null, 'text/plain',
    'Hello ' + subject + '\\n', null, null, null, '', null, Ci.nsIMsgCompType.New);
};
const search = (folder, attribute, text) => new Promise((resolve) => {
  const session = Cc['@mozilla.org/messenger/searchSession;1'].createInstance(Ci.nsIMsgSearchSession);
  const term = session.createTerm();
  const value = term.value;
  value.attrib = attribute; value.str = text;
  term.value = value; term.attrib = attribute; term.op = Ci.nsMsgSearchOp.Contains; term.booleanAnd = false;
  session.addScopeTerm(Ci.nsMsgSearchScope.onlineMail, folder);
  session.appendTerm(term);
  const hits = [];
  session.registerListener({
    QueryInterface: ChromeUtils.generateQI(['nsIMsgSearchNotify']),
    onNewSearch() {}, onSearchHit(header) { hits.push(header.mime2DecodedSubject); }, onSearchDone() { resolve(hits.sort()); },
  }, Ci.nsIMsgSearchSession.allNotifications);
  session.search(null);
});
`;

export async function startThunderbird(options: ThunderbirdOptions): Promise<Thunderbird> {
  const home = mkdtempSync(join(tmpdir(), 'tessera-thunderbird-'));
  const profile = join(home, 'profile');
  mkdirSync(profile);
  const marionettePort = await freePort();
  writeFileSync(join(profile, 'user.js'), toPrefs(options, marionettePort));
  const child = spawn(
    'thunderbird',
    ['--headless', '--no-remote', '--profile', profile, '--marionette', '--remote-allow-system-access'],
    {
      env: { ...process.env, HOME: home, MOZ_HEADLESS: '1', MOZ_LOG: 'IMAP:4,SMTP:4', MOZ_LOG_FILE: join(home, 'log') },
      stdio: 'ignore',
      detached: true,
    },
  );
  const marionette = await Marionette.open(marionettePort);
  const run: Thunderbird['run'] = (body, ...values) =>
    marionette.run(HELPERS + body, ...values).catch((error: unknown) => {
      throw new Error(`${error}\nin ${body}`);
    });
  await run(
    `for (const scheme of ['imap', 'smtp']) {
      const origin = scheme + '://127.0.0.1';
      const login = Cc['@mozilla.org/login-manager/loginInfo;1'].createInstance(Ci.nsILoginInfo);
      login.init(origin, null, origin, arguments[0], arguments[1], '', '');
      await Services.logins.addLoginAsync(login);
    }
    await finished((listener) => MailServices.imap.discoverAllFolders(root, listener, null));
    await until(() => find('Trash'));`,
    options.email,
    options.appToken,
  );
  return {
    run,
    async stop() {
      await marionette.quit();
      await ended(child);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => child.once('exit', resolve));
}

function toPrefs({ email, imapPort, smtpPort, prefs }: ThunderbirdOptions, marionettePort: number): string {
  const all: Record<string, string | number | boolean> = {
    'marionette.port': marionettePort,
    'app.update.enabled': false,
    'datareporting.policy.dataSubmissionEnabled': false,
    'toolkit.telemetry.enabled': false,
    'mail.provider.enabled': false,
    'mail.spotlight.firstRunDone': true,
    'mail.shell.checkDefaultClient': false,
    'mail.rights.version': 1,
    'mailnews.start_page.enabled': false,
    'mail.winsearch.firstRunDone': true,
    'network.proxy.type': 0,
    'mailnews.confirm.moveFoldersToTrash': false,
    'mail.accountmanager.accounts': 'account1,account2',
    'mail.accountmanager.defaultaccount': 'account1',
    'mail.accountmanager.localfoldersserver': 'server2',
    'mail.account.account1.identities': 'id1',
    'mail.account.account1.server': 'server1',
    'mail.account.account2.server': 'server2',
    'mail.identity.id1.useremail': email,
    'mail.identity.id1.fullName': 'Ann',
    'mail.identity.id1.smtpServer': 'smtp1',
    'mail.identity.id1.valid': true,
    'mail.server.server1.type': 'imap',
    'mail.server.server1.hostname': '127.0.0.1',
    'mail.server.server1.port': imapPort,
    'mail.server.server1.userName': email,
    'mail.server.server1.name': email,
    'mail.server.server1.socketType': 0,
    'mail.server.server1.authMethod': 3,
    'mail.server.server1.login_at_startup': false,
    'mail.server.server1.check_new_mail': true,
    'mail.server.server1.check_time': 1,
    'mail.server.server2.type': 'none',
    'mail.server.server2.hostname': 'Local Folders',
    'mail.server.server2.userName': 'nobody',
    'mail.server.server2.name': 'Local Folders',
    'mail.smtpservers': 'smtp1',
    'mail.smtp.defaultserver': 'smtp1',
    'mail.smtpserver.smtp1.hostname': '127.0.0.1',
    'mail.smtpserver.smtp1.port': smtpPort,
    'mail.smtpserver.smtp1.username': email,
    'mail.smtpserver.smtp1.try_ssl': 0,
    'mail.smtpserver.smtp1.authMethod': 3,
    ...prefs,
  };
  return Object.entries(all)
    .map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`)
    .join('');
}
