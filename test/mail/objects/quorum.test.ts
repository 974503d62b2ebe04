/** Tests mail with three locations and a quorum of two, while one location rejects writes. */
import { env as testEnv } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { deleteBlobs, getBlob, putBlob, putBlobStream } from '../../../workers/mail/bindings/blobs.ts';
import { storeRaw } from '../../../workers/mail/inbound/accept/store-raw.ts';
import { makeMarkedCopies, runMarkedCopies } from '../../../workers/shared/collectors/marked-copies.ts';
import { at } from '../../../workers/shared/pure/at.ts';
import { locationsOf } from '../../../workers/shared/stores/bindings.ts';
import { makeLocation } from '../../support/storage/sick-location.ts';

const env = testEnv as unknown as Env & { readonly BLOBS_2: R2Bucket; readonly SPARE_BLOBS: R2Bucket };
const buckets = [env.BLOBS, env.BLOBS_2, env.SPARE_BLOBS];

function makeThree(quorum = 2) {
  const made = buckets.map(makeLocation);
  const [BLOBS, BLOBS_2, BLOBS_3] = made.map(({ wrapped }) => wrapped);
  const bindings = { ...env, BLOBS, BLOBS_2, BLOBS_3, WRITE_QUORUM: String(quorum) } as unknown as Env;
  return { bindings, locations: made.map(({ location }) => location) };
}

const listAll = () => Promise.all(buckets.map(async (each) => (await each.list()).objects.map(({ key }) => key)));
const makeAll = (bindings: Env) => makeMarkedCopies(locationsOf(bindings), () => true);

beforeEach(async () => {
  for (const each of buckets) await each.delete((await each.list()).objects.map(({ key }) => key));
});

async function* inPieces(text: string) {
  for (let from = 0; from < text.length; from += 1_000) yield new TextEncoder().encode(text.slice(from, from + 1_000));
}

const TEXT = 'a message\r\n'.repeat(30_000);
const WRITES = {
  'bytes in memory': (bindings: Env, key: string) => putBlob(bindings, key, TEXT),
  'a stream': (bindings: Env, key: string) => putBlobStream(bindings, key, inPieces(TEXT), TEXT.length),
  'a raw message': (bindings: Env, key: string) => storeRaw(bindings, key, inPieces(TEXT), TEXT.length),
};

describe.each(Object.keys(WRITES) as (keyof typeof WRITES)[])('%s', (kind) => {
  it.each([0, 1, 2])('is stored and read while location %i is down, and copied when it is back', async (sick) => {
    const { bindings, locations } = makeThree();
    at(locations, sick).state = 'down';
    await WRITES[kind](bindings, 'mail/u/a');
    expect(await (await getBlob(bindings, 'mail/u/a'))?.text()).toBe(TEXT);
    const marked = ['mail/u/a', `missing/${sick}/mail/u/a`];
    expect(await listAll()).toEqual([0, 1, 2].map((n) => (n === sick ? [] : marked)));
    expect(await makeAll(bindings)).toBe(0);
    at(locations, sick).state = 'up';
    await runMarkedCopies({ cron: '* * * * *' }, bindings);
    expect(await listAll()).toEqual([['mail/u/a'], ['mail/u/a'], ['mail/u/a']]);
    expect(await (await at(buckets, sick).get('mail/u/a'))?.text()).toBe(TEXT);
  });

  it('is refused without a quorum', async () => {
    const { bindings, locations } = makeThree();
    for (const n of [0, 2]) at(locations, n).state = 'down';
    await expect(WRITES[kind](bindings, 'mail/u/a')).rejects.toThrow('the location is down');
    const all = makeThree(3);
    at(all.locations, 1).state = 'down';
    await expect(WRITES[kind](all.bindings, 'mail/u/b')).rejects.toThrow('the location is down');
  });
});

it('a streamed message is stored although a location breaks off', async () => {
  const { bindings, locations } = makeThree();
  at(locations, 1).state = 'broken off';
  await putBlobStream(bindings, 'mail/u/a', inPieces(TEXT), TEXT.length);
  at(locations, 1).state = 'up';
  expect(await makeAll(bindings)).toBe(1);
  expect(await listAll()).toEqual([['mail/u/a'], ['mail/u/a'], ['mail/u/a']]);
});

it('a stream of another length is refused, and no location has it', async () => {
  const { bindings } = makeThree();
  await expect(putBlobStream(bindings, 'mail/u/a', inPieces(TEXT), TEXT.length + 1)).rejects.toThrow();
  expect(await listAll()).toEqual([[], [], []]);
});

it('a message that was deleted before its copy was made does not come back', async () => {
  const { bindings, locations } = makeThree();
  at(locations, 2).state = 'down';
  await putBlob(bindings, 'mail/u/a', TEXT);
  at(locations, 2).state = 'up';
  await deleteBlobs(bindings, ['mail/u/a']);
  expect(await makeAll(bindings)).toBe(0);
  expect(await listAll()).toEqual([[], [], []]);
});

it('a marker stays while the locations that may have the object are silent', async () => {
  const { bindings, locations } = makeThree();
  at(locations, 2).state = 'down';
  await putBlob(bindings, 'mail/u/a', TEXT);
  at(locations, 2).state = 'up';
  await env.BLOBS_2.delete('mail/u/a');
  at(locations, 0).state = 'down';
  expect(await makeAll(bindings)).toBe(0);
  at(locations, 0).state = 'up';
  expect(await makeAll(bindings)).toBe(1);
});
