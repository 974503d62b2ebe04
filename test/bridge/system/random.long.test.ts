/**
 * Random work of mbsync, imapflow and the web app on one mailbox. Every 20 rounds, all three have each message once, in the same folder,
 * with the same marks. `SEED` repeats a run; `ROUNDS` or `MINUTES` makes it longer.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ImapFlow } from 'imapflow';
import { expect, it } from 'vitest';
import { type BridgeWorld, connectImapflow, type Person, startBridgeWorld } from '../../support/bridge/bridge-world.ts';
import { toMail } from '../../support/bridge/mails.ts';
import { importWhole, listFolder } from '../../support/mail/mail.ts';
import { hasClient } from '../../support/real-client.ts';

const run = promisify(execFile);
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
const MINUTES = Number(process.env.MINUTES ?? 0);
const ROUNDS = Number(process.env.ROUNDS ?? (MINUTES > 0 ? Number.POSITIVE_INFINITY : 20));
const ROUNDS_PER_COMPARISON = 20;
const ACTIONS_PER_ROUND = 6;
/** Folders by role, and by their names in the programs. */
const FOLDERS = { inbox: 'INBOX', archive: 'Archive', trash: 'Trash', junk: 'Junk' } as const;
type Role = keyof typeof FOLDERS;
const ROLES = Object.keys(FOLDERS) as Role[];

/** mulberry32. */
function toRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Scene {
  readonly world: BridgeWorld;
  readonly ann: Person;
  readonly client: ImapFlow;
  readonly home: string;
  readonly random: () => number;
  readonly created: string[];
}
const pick = <T>({ random }: Scene, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
const newSubject = ({ created }: Scene): string => {
  created.push(`mail-${created.length}`);
  return created.at(-1) ?? '';
};

const ACTIONS: readonly ((scene: Scene) => Promise<unknown>)[] = [
  // The web app: mail arrives, is marked, is moved.
  async (scene) => importWhole(scene.world.server, scene.ann.token, toMail(newSubject(scene)), 'message/rfc822'),
  async (scene) => change(scene, { is_read: scene.random() < 0.5, is_flagged: scene.random() < 0.5 }),
  async (scene) => change(scene, { folder_id: pick(scene, ROLES) }),
  // imapflow.
  async (scene) => scene.client.append(FOLDERS[pick(scene, ROLES)], toMail(newSubject(scene)), ['\\Seen']),
  async (scene) =>
    withMessage(scene, (uid) => scene.client.messageMove(uid, FOLDERS[pick(scene, ROLES)], { uid: true })),
  async (scene) => withMessage(scene, (uid) => scene.client.messageFlagsAdd(uid, ['\\Flagged'], { uid: true })),
  async (scene) =>
    withMessage(scene, (uid) => scene.client.messageFlagsRemove(uid, ['\\Seen', '\\Flagged'], { uid: true })),
  // The Maildir of mbsync: a new file, other marks, a file that is gone.
  async (scene) => {
    const subject = newSubject(scene);
    writeFileSync(join(scene.home, 'mail/INBOX/new', `${subject}.test.host`), toMail(subject).replaceAll('\r\n', '\n'));
  },
  async (scene) => {
    const file = pick(scene, listMaildir(scene.home, 'INBOX'));
    if (file)
      renameSync(file.path, join(scene.home, 'mail/INBOX/cur', `${file.base}:2,${pick(scene, ['', 'S', 'F', 'FS'])}`));
  },
  // Only a file that mbsync has seen, which its name tells: a newer one is nowhere else.
  async (scene) => {
    const file = pick(
      scene,
      listMaildir(scene.home, 'INBOX').filter(({ base }) => base.includes(',U=')),
    );
    if (file) rmSync(file.path);
  },
];

async function change(scene: Scene, body: Record<string, unknown>): Promise<void> {
  const message = pick(scene, await listFolder(scene.world.server, scene.ann, pick(scene, ROLES)));
  if (message) await scene.world.server.call('PATCH', `/v1/messages/${message.id}`, body, scene.ann.token);
}

async function withMessage(scene: Scene, act: (uid: string) => Promise<unknown>): Promise<void> {
  await scene.client.mailboxOpen(FOLDERS[pick(scene, ROLES)]);
  const uids = await scene.client.search({ all: true }, { uid: true });
  const uid = uids ? pick(scene, uids) : undefined;
  if (uid !== undefined) await act(String(uid));
}

function listMaildir(home: string, folder: string) {
  return ['cur', 'new'].flatMap((part) =>
    readdirSync(join(home, 'mail', folder, part)).map((name) => {
      const path = join(home, 'mail', folder, part, name);
      const [base = '', marks = ''] = name.split(':2,');
      return { path, base, marks, subject: /^Subject: (.*?)\r?$/m.exec(readFileSync(path, 'utf8'))?.[1] ?? '' };
    }),
  );
}

const toLine = (role: Role, subject: string, isRead: boolean, isFlagged: boolean): string =>
  `${role} ${subject}${isRead ? ' read' : ''}${isFlagged ? ' flagged' : ''}`;

async function readWeb({ world, ann }: Scene): Promise<string[]> {
  const lists = await Promise.all(
    ROLES.map(async (role) =>
      (await listFolder(world.server, ann, role)).map((each) =>
        toLine(role, each.subject, each.is_read, each.is_flagged),
      ),
    ),
  );
  return lists.flat().sort();
}
async function readClient({ client }: Scene): Promise<string[]> {
  const lines: string[] = [];
  for (const role of ROLES) {
    await client.mailboxOpen(FOLDERS[role]);
    if (!client.mailbox || client.mailbox.exists === 0) continue;
    for await (const { envelope, flags } of client.fetch('1:*', { envelope: true, flags: true }))
      lines.push(
        toLine(role, envelope?.subject ?? '', flags?.has('\\Seen') ?? false, flags?.has('\\Flagged') ?? false),
      );
  }
  return lines.sort();
}
const readMaildirs = ({ home }: Scene): string[] =>
  ROLES.flatMap((role) =>
    listMaildir(home, FOLDERS[role]).map(({ subject, marks }) =>
      toLine(role, subject, marks.includes('S'), marks.includes('F')),
    ),
  ).sort();

it.skipIf(!hasClient('mbsync'))(
  `agree after random work (SEED=${SEED})`,
  async () => {
    await using world = await startBridgeWorld();
    const ann = await world.addPerson('ann');
    const home = mkdtempSync(join(tmpdir(), 'tessera-random-'));
    mkdirSync(join(home, 'mail'));
    const config = join(home, 'mbsyncrc');
    writeFileSync(
      config,
      `IMAPAccount a\nHost localhost\nPort ${world.bridge.imapsPort}\nSSLType IMAPS\nCertificateFile ${world.certificatePath}\nUser ${ann.email}\nPass ${ann.appToken}\n\nIMAPStore far\nAccount a\n\nMaildirStore near\nPath ${home}/mail/\nInbox ${home}/mail/INBOX\nSubFolders Verbatim\n\nChannel c\nFar :far:\nNear :near:\nPatterns *\nCreate Both\nExpunge Both\nSyncState *\n`,
    );
    const client = await connectImapflow(world, ann);
    const scene: Scene = { world, ann, client, home, random: toRandom(SEED), created: [] };
    const synchronize = () => run('mbsync', ['-q', '-c', config, '-a'], { env: { ...process.env, HOME: home } });
    await synchronize();
    const compare = async (): Promise<void> => {
      // A change that mbsync finds in one run may need the next one to reach the other side.
      for (let times = 0; times < 3; times++) await synchronize();
      const web = await readWeb(scene);
      expect(await readClient(scene)).toEqual(web);
      expect(readMaildirs(scene)).toEqual(web);
      expect(web.map((line) => line.split(' ')[1]).sort()).toEqual([...scene.created].sort());
    };
    const endsAt = MINUTES > 0 ? Date.now() + MINUTES * 60_000 : Number.POSITIVE_INFINITY;
    for (let round = 1; round <= ROUNDS && Date.now() < endsAt; round++) {
      for (let action = 0; action < ACTIONS_PER_ROUND; action++) await pick(scene, ACTIONS)(scene);
      // The web app and imapflow work on while mbsync runs.
      await Promise.all([synchronize(), ACTIONS[1]?.(scene), ACTIONS[5]?.(scene)]);
      if (round % ROUNDS_PER_COMPARISON > 0) continue;
      await compare();
      console.log(`round ${round}: ${scene.created.length} messages agree`);
    }
    await compare();
    await client.logout();
    rmSync(home, { recursive: true, force: true });
  },
  Math.max(1_800_000, (MINUTES + 10) * 60_000),
);
