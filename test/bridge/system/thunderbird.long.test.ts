/**
 * Thunderbird works on a mailbox through a bridge, with and without CONDSTORE, while the web app changes it too. Each change is awaited on
 * the other side. `MINUTES` makes it longer.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeWorld, type Person, startBridgeWorld } from '../../support/bridge/bridge-world.ts';
import { toMail } from '../../support/bridge/mails.ts';
import { startTap, type Tap, type TapLine } from '../../support/bridge/tap.ts';
import { startThunderbird, type Thunderbird } from '../../support/bridge/thunderbird.ts';
import { importWhole, listFolder } from '../../support/mail/mail.ts';
import { hasClient } from '../../support/real-client.ts';

const MINUTES = Number(process.env.MINUTES ?? 0);
const ROUNDS = Number(process.env.ROUNDS ?? 3);
const FOLDERS = {
  inbox: 'INBOX',
  archive: 'Archive',
  drafts: 'Drafts',
  sent: 'Sent',
  junk: 'Junk',
  trash: 'Trash',
} as const;
type Role = keyof typeof FOLDERS;
const ROLES = Object.keys(FOLDERS) as Role[];

interface Scene {
  readonly world: BridgeWorld;
  readonly ann: Person;
  readonly tap: Tap;
  readonly thunderbird: Thunderbird;
}

const inWeb = async ({ world, ann }: Scene, role: Role, subject: string) =>
  (await listFolder(world.server, ann, role)).find((message) => message.subject === subject);
const awaitInWeb = (scene: Scene, role: Role, subject: string, members: object = {}) =>
  expect.poll(() => inWeb(scene, role, subject)).toMatchObject({ subject, ...members });
const change = async (scene: Scene, role: Role, subject: string, body: object): Promise<void> => {
  const message = await inWeb(scene, role, subject);
  const { status } = await scene.world.server.call('PATCH', `/v1/messages/${message.id}`, body, scene.ann.token);
  expect(status).toBe(200);
};
const put = ({ world, ann }: Scene, subject: string) =>
  importWhole(world.server, ann.token, toMail(subject), 'message/rfc822');

/** Mail arrives, and Thunderbird reads, marks, tags, copies, moves, and finds it. */
async function read(scene: Scene, subject: string): Promise<void> {
  const { thunderbird } = scene;
  await put(scene, subject);
  const text = await thunderbird.run(
    `const header = await until(() => withSubject(find('INBOX'), arguments[0]));
    const text = await read(header);
    header.folder.markMessagesRead([header], true);
    header.folder.markMessagesFlagged([header], true);
    header.folder.addKeywordsToMessages([header], '$label1');
    return text;`,
    subject,
  );
  expect(text).toContain(`Hello ${subject}`);
  await awaitInWeb(scene, 'inbox', subject, { is_read: true, is_flagged: true });
  await thunderbird.run(
    `const header = withSubject(find('INBOX'), arguments[0]);
    header.folder.removeKeywordsFromMessages([header], '$label1');
    header.folder.markMessagesFlagged([header], false);
    await copy(header, find('Archive'), true);`,
    subject,
  );
  await awaitInWeb(scene, 'archive', subject, { is_read: true, is_flagged: false });
  const hits = await thunderbird.run(
    `await update(find('Archive'));
    return search(find('Archive'), Ci.nsMsgSearchAttrib.Subject, arguments[0]);`,
    subject,
  );
  expect(hits).toContain(subject);
}

/** The web app marks and moves, and Thunderbird sees it in the folder that it has open. */
async function watch(scene: Scene, subject: string): Promise<void> {
  await put(scene, subject);
  await scene.thunderbird.run(`await until(() => withSubject(find('INBOX'), arguments[0]));`, subject);
  await change(scene, 'inbox', subject, { is_read: true, is_flagged: true });
  await scene.thunderbird.run(
    `await until(() => { const header = withSubject(find('INBOX'), arguments[0]); return header.isRead && header.isFlagged; });`,
    subject,
  );
  const { body: folders } = await scene.world.server.call('GET', '/v1/folders', undefined, scene.ann.token);
  const archive = folders.find(({ role }: { role: string }) => role === 'archive');
  await change(scene, 'inbox', subject, { folder_id: archive.id });
  await scene.thunderbird.run(
    `await until(() => !withSubject(find('INBOX'), arguments[0]));
    await update(find('Archive'));
    await until(() => withSubject(find('Archive'), arguments[0])?.isFlagged);`,
    subject,
  );
}

/** Thunderbird sends to its own address and saves a draft. Sent has one copy. */
async function write(scene: Scene, subject: string): Promise<void> {
  await scene.thunderbird.run(
    `await compose(arguments[0], 'nsMsgDeliverNow', arguments[1]);
    await until(() => withSubject(find('INBOX'), arguments[0]));
    await compose(arguments[0] + '-draft', 'nsMsgSaveAsDraft', arguments[1]);`,
    subject,
    scene.ann.email,
  );
  await awaitInWeb(scene, 'drafts', `${subject}-draft`);
  await awaitInWeb(scene, 'sent', subject);
  const copies = (await listFolder(scene.world.server, scene.ann, 'sent')).filter((each) => each.subject === subject);
  expect(copies).toHaveLength(1);
}

/** Thunderbird makes a folder, files into it, renames and deletes it, and deletes messages. */
async function file(scene: Scene, subject: string): Promise<void> {
  await put(scene, subject);
  await put(scene, `${subject}-junk`);
  await scene.thunderbird.run(
    `const name = 'Ä ' + arguments[0];
    const header = await until(() => withSubject(find('INBOX'), arguments[0]));
    root.createSubfolder(name, null);
    const made = await until(() => find(name));
    await copy(header, made, true);
    // Thunderbird selects a mailbox after a copy into it, also if it is renamed meanwhile.
    await update(made);
    await until(() => withSubject(made, arguments[0]));
    made.rename(name + ' new', null);
    const renamed = await until(() => find(name + ' new'));
    await update(renamed);
    const filed = await until(() => withSubject(renamed, arguments[0]));
    await finished((listener) => renamed.deleteMessages([filed], null, false, true, listener, false));
    const junk = await until(() => withSubject(find('INBOX'), arguments[0] + '-junk'));
    await copy(junk, find('Junk'), true);
    renamed.deleteSelf(null);
    await until(() => find(name + ' new')?.URI.includes('/Trash/'));`,
    subject,
  );
  await awaitInWeb(scene, 'trash', subject);
  await awaitInWeb(scene, 'junk', `${subject}-junk`);
}

/** Thunderbird empties Trash, with the folders in it. */
async function empty(scene: Scene): Promise<void> {
  await scene.thunderbird.run(
    `find('Trash').emptyTrash(null);
    await until(() => find('Trash').descendants.length === 0 && messages(find('Trash')).length === 0);`,
  );
  await expect.poll(() => listFolder(scene.world.server, scene.ann, 'trash')).toEqual([]);
}

const ACTIONS = { read, watch, write, file, empty };

/** What Thunderbird and the web app have, a line per message. */
async function compare(scene: Scene): Promise<void> {
  const web = await Promise.all(
    ROLES.map(async (role) =>
      (await listFolder(scene.world.server, scene.ann, role)).map(
        ({ subject, is_read, is_flagged }) => `${role} ${subject} ${is_read} ${is_flagged}`,
      ),
    ),
  );
  const lines = async () =>
    scene.thunderbird.run(
      `const lines = [];
      for (const [role, name] of Object.entries(arguments[0])) {
        await update(find(name));
        for (const header of messages(find(name)))
          lines.push(role + ' ' + header.mime2DecodedSubject + ' ' + header.isRead + ' ' + header.isFlagged);
      }
      return lines.sort();`,
      FOLDERS,
    );
  await expect.poll(lines).toEqual(web.flat().sort());
}

const COMMAND = /^\S+ (?:uid )?(\S+)/i;
/** Commands that the bridge refused, with its answers. */
function findRefused(lines: readonly TapLine[]): string[] {
  const commands = new Map<string, string>();
  const refused: string[] = [];
  for (const { connection, direction, text } of lines) {
    const key = `${connection} ${text.split(' ')[0]}`;
    if (direction === '>' && COMMAND.test(text)) commands.set(key, text);
    if (direction === '<' && /^[^*+ ]\S* (NO|BAD) /.test(text)) refused.push(`${commands.get(key)} -> ${text}`);
    if (direction === '<' && text.startsWith('* BYE')) refused.push(text);
  }
  return refused;
}
/** Headers that were fetched more than once: UIDs by folder. */
function findFetchedAgain(lines: readonly TapLine[]): string[] {
  const selected = new Map<number, string>();
  const fetched = new Set<string>();
  const again: string[] = [];
  for (const { connection, direction, text } of lines) {
    const folder = /^\S+ select (".*?")/i.exec(text)?.[1];
    if (direction === '>' && folder) selected.set(connection, folder);
    const uid = /^\* \d+ FETCH \(UID (\d+) RFC822\.SIZE \d+ FLAGS .*HEADER\.FIELDS/.exec(text)?.[1];
    if (direction === '>' || !uid) continue;
    const key = `${selected.get(connection)} ${uid}`;
    if (fetched.has(key)) again.push(key);
    fetched.add(key);
  }
  return again;
}

describe.skipIf(!hasClient('thunderbird')).each([
  { name: 'as it is installed', hasCondstore: false },
  { name: 'with CONDSTORE', hasCondstore: true },
])('Thunderbird $name', ({ hasCondstore }) => {
  let scene: Scene;
  let smtp: Tap;
  beforeAll(async () => {
    const world = await startBridgeWorld({ certificate: null });
    const ann = await world.addPerson('ann');
    const tap = await startTap(world.bridge.imapPort);
    smtp = await startTap(world.bridge.smtpPort);
    const thunderbird = await startThunderbird({
      email: ann.email,
      appToken: ann.appToken,
      imapPort: tap.port,
      smtpPort: smtp.port,
      prefs: { 'mail.server.server1.use_condstore': hasCondstore },
    });
    scene = { world, ann, tap, thunderbird };
  });
  afterAll(async () => {
    if (process.env.SHOW_LINES)
      for (const l of scene.tap.lines) console.log(l.connection, l.direction, l.text.slice(0, 160));
    await scene?.thunderbird.stop();
    await scene?.tap.stop();
    await smtp?.stop();
    await scene?.world[Symbol.asyncDispose]();
  });

  it(
    'agrees with the web app, without an error and without reading a folder again',
    async () => {
      await scene.thunderbird.run(
        `Services.wm.getMostRecentWindow('mail:3pane').tessera = [];
      MailServices.mailSession.addUserFeedbackListener({
        QueryInterface: ChromeUtils.generateQI(['nsIMsgUserFeedbackListener']),
        onAlert(message) { Services.wm.getMostRecentWindow('mail:3pane').tessera.push(message); return true; },
        onCertError() { return true; },
      });`,
      );
      const endsAt = Date.now() + MINUTES * 60_000;
      for (let round = 1; MINUTES > 0 ? Date.now() < endsAt : round <= ROUNDS; round++) {
        for (const [name, act] of Object.entries(ACTIONS)) await act(scene, `${name}-${round}`);
        if (round % 5 === 0) await compare(scene);
        if (round % 5 === 0) console.log(`round ${round}: ${scene.tap.lines.length} lines`);
        expect(findRefused(scene.tap.lines)).toEqual([]);
      }
      await compare(scene);
      expect(findFetchedAgain(scene.tap.lines)).toEqual([]);
      expect(findRefused(smtp.lines)).toEqual([]);
      const alerts = await scene.thunderbird.run("return Services.wm.getMostRecentWindow('mail:3pane').tessera;");
      expect(alerts).toEqual([]);
    },
    (MINUTES + 30) * 60_000,
  );
});
