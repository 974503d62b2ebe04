/**
 * Loses every store of a server that is killed under load, and rebuilds it from its S3 location alone. What was acknowledged before the last
 * journal that the location has must be there again; what came later is there whole or not at all. `RESCUE_PEER=moto` takes moto as the S3
 * location in place of another Tessera.
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { Details } from '../../support/disaster/details.ts';
import { World } from '../../support/disaster/world.ts';
import { listFolder, type MailUser, postInbound, registerUser } from '../../support/mail/mail.ts';
import { freePorts } from '../../support/server.ts';
import { type S3Location, startMoto, startS3Peer } from '../../support/storage/s3-peer.ts';

const ROOT = join(import.meta.dirname, '../../..');
const CLIENTS = 3;
/** Pause of a client after each upload. Server, S3 location and clients share the processors, so that the load must leave some to the copies. */
const PAUSE_MS = 300;
const SIZES = [100, 16_384, 20_000, 700_000];
/** Least time of load: the journal of a minute is copied in the next one. */
const LOAD_MS = 140_000;
const JOURNAL_MS = 90_000;
const CUTS = 3;

interface Acknowledged {
  /** SHA-256 of an object; null once it was deleted. */
  readonly hash: string | null;
  readonly at: number;
}

let peer: S3Location;
let world: World;
let details: Details;
let cat: MailUser;
const objects = new Map<string, Acknowledged>();
const subjects = new Map<string, number>();

it('the server has data in every store', async () => {
  peer = process.env.RESCUE_PEER === 'moto' ? await startMoto() : await startS3Peer();
  world = await World.open(peer.vars);
  details = await Details.make(world);
  cat = await registerUser(world.server, 'cat');
  await fetch(`${world.server.url}/load`, { method: 'PUT', headers: world.headers });
  // Half of the load is in each shard, so that both have a journal of each minute.
  for (let slot = 0; slot < 128; slot += 32) {
    const slots = Array.from({ length: 32 }, (_, i) => slot + i);
    await world.operate('/v1/storage/slots/move', { bucket: 'load', to_shard: 1, slots });
  }
  await world.copyBoards();
  await world.backUp();
  await awaitPass(Date.now());
});
afterAll(async () => {
  await world?.server[Symbol.asyncDispose]();
  await peer?.[Symbol.asyncDispose]();
});

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Waits until the S3 location has everything that is older than a time. A pass may take minutes on a busy machine. */
async function awaitPass(time: number): Promise<void> {
  const isThere = async () => {
    const { body } = await world.server.call('POST', '/v1/locations/s3/copy', {});
    return Date.parse(body.through ?? 0) >= time;
  };
  await expect.poll(isThere, { timeout: 300_000, interval: 2_000 }).toBe(true);
}

/** Uploads, deletes and delivers until the server is killed. */
async function load(round: number, isOver: () => boolean): Promise<void> {
  const { server, headers } = world;
  const client = async (number: number) => {
    for (let i = 0; !isOver(); i++, await sleep(PAUSE_MS)) {
      const name = `${round}-${number}-${i}`;
      const bytes = randomBytes(SIZES[i % SIZES.length] ?? 0);
      const url = `${server.url}/load/${name}`;
      const answer = await fetch(url, { method: 'PUT', headers, body: new Uint8Array(bytes) });
      if (answer.status === 200) objects.set(name, { hash: sha256(bytes), at: Date.now() });
      if (i % 5 === 0 && (await fetch(url, { method: 'DELETE', headers })).status === 204)
        objects.set(name, { hash: null, at: Date.now() });
      if (i % 7 !== 0) continue;
      const raw = `From: Far <far@elsewhere.test>\r\nTo: ${cat.email}\r\nSubject: ${name}\r\nMessage-ID: <${name}@elsewhere.test>\r\n\r\nText\r\n`;
      const { status } = await postInbound(server, raw, { from: 'far@elsewhere.test', to: cat.email });
      if (status === 202) subjects.set(name, Date.now());
    }
  };
  const ending = (error: unknown) => {
    if (!isOver()) throw error;
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number).catch(ending)));
}

/** The time up to which the S3 location has the journal of every shard. */
async function readJournalEnd(): Promise<number> {
  const keys = (await peer.listKeys()).flatMap((key) => {
    const [, shard, epoch] = /^journal\/(\d+)\/0*(\d+)\//.exec(key) ?? [];
    return shard === undefined ? [] : [{ shard, epoch: Number(epoch) }];
  });
  const newest = Map.groupBy(keys, ({ shard }) => shard);
  expect(newest.size).toBe(2);
  return Math.min(...[...newest.values()].map((pages) => Math.max(...pages.map(({ epoch }) => epoch))));
}

/** Runs `npm run rescue`. @param killedAfterMs kills it and its children then. @returns its exit status; null if it was killed. */
async function runRescue(killedAfterMs?: number): Promise<{ status: number | null; output: string }> {
  const { S3_LOCATION: from = '', S3_LOCATION_ENDPOINT: endpoint = '', ...credential } = peer.vars;
  const parts = ['dev/local/rescue.ts', '--from', from, '--endpoint', endpoint, '--take-over'];
  const child = spawn(process.execPath, parts, {
    cwd: ROOT,
    detached: true,
    env: {
      ...process.env,
      ...credential,
      ...(await freePorts()),
      STATE_DIR: world.server.directory,
      DEV_VARS: join(world.server.directory, 'dev.vars'),
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  if (killedAfterMs === undefined) return { status: await ended, output };
  await Promise.race([ended, sleep(killedAfterMs)]);
  if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
  return { status: await ended, output };
}

async function expectLoad(journalEnd: number, through: number): Promise<object> {
  let kept = 0;
  let lost = 0;
  for (const [name, { hash, at }] of objects) {
    const answer = await fetch(`${world.server.url}/load/${name}`, { headers: world.headers });
    const found = answer.status === 200 ? sha256(new Uint8Array(await answer.arrayBuffer())) : answer.status;
    if (at < journalEnd) expect([name, found]).toEqual([name, hash ?? 404]);
    else if (found !== 404) expect([name, answer.status]).toEqual([name, 200]);
    if (found === (hash ?? 404)) kept++;
    else {
      lost++;
      objects.delete(name);
    }
  }
  const { email, userId } = cat;
  const login = await world.operate('/v1/auth/login', { email, password: 'correct horse battery' });
  cat = { email, userId, token: login.token };
  const found = new Set((await listFolder(world.server, cat, 'all')).map(({ subject }) => subject));
  let mailLost = 0;
  for (const [subject, at] of subjects) {
    if (at < through) expect([...found]).toContain(subject);
    if (found.has(subject)) continue;
    mailLost++;
    subjects.delete(subject);
  }
  return { kept, lost, mail: found.size, mail_lost: mailLost };
}

it.each([1, 2, 3])('round %i: killed under load, every store lost, rescued', async (round) => {
  let isOver = false;
  const loading = load(round, () => isOver);
  const begun = Date.now();
  await sleep(LOAD_MS + Math.random() * 30_000);
  // Until the objects of the round before have reached a journal, and this one the S3 location.
  await awaitPass(begun + JOURNAL_MS);
  isOver = true;
  await world.server.kill9();
  await loading;
  const [journalEnd, through, killedAt] = [await readJournalEnd(), world.readThrough(), Date.now()];
  world.loseAll();
  const cuts: number[] = [];
  for (let cut = 0; cut < CUTS; cut++) {
    cuts.push(Math.round(4_000 + Math.random() * 8_000));
    await runRescue(cuts.at(-1));
  }
  const since = performance.now();
  const { status, output } = await runRescue();
  const took = Math.round(performance.now() - since) / 1000;
  expect(status, output).toBe(0);
  await world.server.start({ CLOCK_OFFSET_SECONDS: '0' });
  await world.logIn();
  await world.expectAll();
  await details.expectSame();
  const rest = await expectLoad(journalEnd, through);
  const behind = { journal_s: (killedAt - journalEnd) / 1000, pass_s: (killedAt - through) / 1000 };
  console.log(JSON.stringify({ round, ...behind, cuts, took, ...rest }));
});
