/** Loses each store in turn. The commands of docs/operations.md must restore the data that its table promises. */
import { afterAll, expect, it } from 'vitest';
import { World } from '../../support/disaster/world.ts';
import type { MailUser } from '../../support/mail/mail.ts';
import { CLEAN_FSCK } from '../../support/storage/clean-fsck.ts';

let world: World;
afterAll(() => world?.server[Symbol.asyncDispose]());

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;
const health = async () => (await world.server.call('GET', '/v1/health')).body;

/** Calls a route repeatedly until its answer says that the work is finished. */
async function untilFinished(path: string, body: object = {}) {
  let answer = await world.operate(path, body);
  while (!answer.finished) answer = await world.operate(path, { ...body, restart: false });
  return answer;
}

async function refill() {
  const sum = { copied: 0, copied_bytes: 0 };
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer = await world.operate('/v1/locations/refill', { cursor });
    sum.copied += answer.copied;
    sum.copied_bytes += answer.copied_bytes;
    expect(answer.failed).toBe(0);
    cursor = answer.next_cursor;
  }
  return sum;
}

it('the server has data in every store', async () => {
  world = await World.open();
  await world.expectAll();
});

it.each([0, 1])('a lost database of objects (%i of two) is rebuilt from snapshot, journal and bytes', async (shard) => {
  await world.backUp();
  const files = world.shardFiles();
  expect(files).toHaveLength(2);
  await world.lose([files[shard] ?? '']);
  const sick = await health();
  const answers = await Promise.all(
    [...world.objects.keys()].map((path) => fetch(world.server.url + path, { headers: world.headers })),
  );
  const statuses = new Set(answers.map(({ status }) => status));
  // While the shard is lost, no answer may say that an object does not exist (404).
  expect([...statuses].sort()).toEqual([200, 503]);
  const number = Number(/^OBJECTS_(\d) was lost/.exec(sick.unavailable.join())?.[1]);
  const since = performance.now();
  const report = await untilFinished('/v1/storage/rebuild', { shard: number });
  console.log(JSON.stringify({ lost: `OBJECTS ${shard}`, sick, took: seconds(since), report }));
  await world.expectAll();
  expect(await untilFinished('/v1/storage/fsck')).toMatchObject({
    ...CLEAN_FSCK,
    orphans: expect.any(Number),
    blobs_unreferenced: expect.any(Number),
  });
});

it('a lost DIRECTORY is rebuilt from its snapshot, with every credential and account', async () => {
  await world.operate('/v1/storage/snapshot');
  await world.lose(world.directoryFile());
  const sick = await health();
  expect(sick.unavailable).toContain('DIRECTORY was lost and has not been rebuilt');
  const since = performance.now();
  const report = await world.operate('/v1/storage/directory/rebuild');
  console.log(JSON.stringify({ lost: 'DIRECTORY', sick, took: seconds(since), report }));
  await world.expectAll();
});

it.each(['tessera-blobs', 'tessera-blobs-2'])(
  'the bucket %s is filled again from the other location',
  async (bucket) => {
    await world.lose(world.locationFiles(bucket));
    const sick = await health();
    await world.expectObjects();
    await world.expectMail();
    const since = performance.now();
    const copied = await refill();
    const filled = seconds(since);
    const scrubbed = await untilFinished('/v1/storage/scrub');
    console.log(JSON.stringify({ lost: bucket, sick, filled, copied, scrubbed: seconds(since), report: scrubbed }));
    expect(scrubbed).toMatchObject({ bad_copies: 0, missing_copies: 0, lost_blobs: 0 });
    expect(await refill()).toEqual({ copied: 0, copied_bytes: 0 });
    await world.expectAll();
    const { body } = await world.server.call('GET', '/v1/collectors');
    expect(body.data.map(({ alarm }: { alarm: unknown }) => alarm)).toEqual(body.data.map(() => null));
  },
);

it('a lost mailbox gets every message back from the raw bytes', async () => {
  const [ann] = world.users as [MailUser];
  await world.lose(world.mailboxFile(ann));
  const { status } = await world.server.call('GET', '/v1/folders', undefined, ann.token);
  await world.logIn();
  const since = performance.now();
  const report = await world.operate(`/v1/accounts/${ann.userId}/rebuild`);
  console.log(JSON.stringify({ lost: 'a mailbox', status, took: seconds(since), report }));
  await world.expectAll();
  expect((await world.operate(`/v1/accounts/${ann.userId}/rebuild`)).recovered).toBe(0);
});

it('all mailboxes lost at once get every message back, and no collector deletes their bytes', async () => {
  await world.lose(world.allMailboxFiles());
  await world.logIn();
  const since = performance.now();
  const reports = [];
  for (const { userId } of world.users) reports.push(await world.operate(`/v1/accounts/${userId}/rebuild`));
  expect((await world.server.call('POST', '/v1/collectors/mail/acknowledge', { take_over: true })).status).toBe(204);
  console.log(JSON.stringify({ lost: 'all mailboxes', took: seconds(since), reports }));
  await world.expectAll();
});

it('a lost season object and lost views count again from the shards', async () => {
  await world.lose([...world.seasonFiles(), ...world.viewFiles()]);
  const since = performance.now();
  await world.expectSeasons();
  console.log(JSON.stringify({ lost: 'season and views', took: seconds(since) }));
  await world.expectAll();
});

it('a lost shard of the live season costs its own players their scores, which can be posted again', async () => {
  const { file, players } = world.scoreShard();
  await world.lose([file]);
  const left = (await world.listLive()).map((entry) => entry.split(' ')[1]);
  expect(left.filter((player) => players.includes(player ?? ''))).toEqual([]);
  expect(left).toHaveLength(120 - players.length);
  await world.postScores('live');
  console.log(JSON.stringify({ lost: 'a shard of the live season', players: players.length }));
  await expect.poll(async () => (await world.listLive()).length).toBe(120);
});
