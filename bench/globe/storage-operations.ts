/** Measured operations of object storage. */
import { randomBytes, randomUUID } from 'node:crypto';
import { FORM_TYPE, signForm } from '../../test/support/storage/s3-form.ts';
import type { Floor } from './floor.ts';
import type { Call, FloorCall, Globe, Key, Sample } from './globe.ts';
import { FROM, FROM_WITHOUT_REPLICA, type Operation, once, SAMPLES_FOR_P99, times } from './operation.ts';
import type { Region } from './world.ts';

const KIB = 1024;
const MIB = 1024 ** 2;
const SMALL = randomBytes(4 * KIB);
const MEDIUM = randomBytes(MIB);
const LARGE = randomBytes(16 * MIB);
const FORM_TEXT = 'a form '.repeat(585);
const LISTED = 1_000;
/** Floor of a small write. The value is text, because D1 also sends bytes as text. */
const WRITE_SMALL: FloorCall = { floor: 'write-batch', body: Buffer.from('x'.repeat(4 * KIB)) };

interface Bucket {
  readonly name: string;
  readonly key: Key;
}

/** Creates a new user with a bucket. The measured isolate knows neither, so their first use is cold. */
async function makeBucket(globe: Globe, isVersioned = false): Promise<Bucket> {
  const name = `b-${randomUUID()}`;
  const user = await globe.setup('POST', '/v1/iam/users', { name });
  const made = await globe.setup('POST', `/v1/iam/users/${user.user_id}/access-keys`, {});
  const key = { accessKeyId: made.access_key_id, secretAccessKey: made.secret_access_key };
  await globe.send(null, { method: 'PUT', path: `/${name}`, as: key });
  if (isVersioned) {
    const body = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>';
    await globe.send(null, { method: 'PUT', path: `/${name}`, query: { versioning: '' }, body, as: key });
  }
  return { name, key };
}

const put = (bucket: Bucket, name: string, body: Uint8Array<ArrayBuffer>): Call => ({
  method: 'PUT',
  path: `/${bucket.name}/${name}`,
  body,
  as: bucket.key,
});
const get = (bucket: Bucket, name: string, _written: Response, more: Partial<Call> = {}): Call => ({
  method: 'GET',
  path: `/${bucket.name}/${name}`,
  as: bucket.key,
  ...more,
});

interface Reading {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Floors of the cold samples and of the warm samples. */
  readonly floors: readonly [Floor, Floor];
  readonly toCall: (bucket: Bucket, name: string, written: Response) => Call;
  readonly open?: (globe: Globe, bucket: Bucket) => Promise<void>;
  /** Region of the client. Default: `FROM`. */
  readonly from?: Region;
  readonly samples?: number;
}

/** Measures reads. Each cold sample has its own bucket and key; warm samples share them. */
function reading(operation: string, { body, floors, toCall, open, from = FROM, samples: full }: Reading): Operation[] {
  const prepare = async (globe: Globe, bucket: Bucket) => {
    await open?.(globe, bucket);
    const { response } = await globe.send(null, put(bucket, 'x', body));
    return toCall(bucket, 'x', response);
  };
  return [false, true].map((warm) => ({
    operation,
    from,
    warm,
    ...(full === undefined ? {} : { samples: full }),
    async run(globe, samples) {
      const calls: Call[] = [];
      const shared = await makeBucket(globe);
      for (let at = 0; at < samples; at++) calls.push(await prepare(globe, warm ? shared : await makeBucket(globe)));
      if (warm && calls[0]) await globe.send(from, calls[0]);
      return globe.measure(from, { samples: calls.map(once), floor: { floor: floors[warm ? 1 : 0] } });
    },
  }));
}

/** Makes the bucket public and allows caches to answer. */
async function publish(globe: Globe, { name, key }: Bucket): Promise<void> {
  const Statement = [{ Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${name}/*` }];
  const policy = JSON.stringify({ Version: '2012-10-17', Statement });
  const tag = '<Tag><Key>tessera:public-cache-seconds</Key><Value>3600</Value></Tag>';
  const tagging = `<Tagging><TagSet>${tag}</TagSet></Tagging>`;
  for (const [kind, body] of Object.entries({ policy, tagging })) {
    await globe.send(null, { method: 'PUT', path: `/${name}`, query: { [kind]: '' }, body, as: key });
  }
}

interface Writing {
  readonly prepare?: (globe: Globe, bucket: Bucket, samples: number) => Promise<void>;
  /** Region of the client. Default: `FROM`. */
  readonly from?: Region;
}

/** Measures writes to a bucket that the isolate knows. After the samples, the objects are packed and the journal is written. */
function writing(
  operation: string,
  floor: FloorCall | undefined,
  toSample: (bucket: Bucket, at: number) => Sample,
  { prepare = async () => {}, from = FROM }: Writing = {},
): Operation {
  return {
    operation,
    from,
    warm: true,
    async run(globe, samples) {
      const bucket = await makeBucket(globe, true);
      await globe.send(from, put(bucket, 'known', SMALL));
      await prepare(globe, bucket, samples);
      const after = async () => {
        await globe.maintain();
        await globe.pack();
      };
      await after();
      const measuring = { samples: times(samples, (at) => toSample(bucket, at)), after };
      return globe.measure(from, floor ? { ...measuring, floor } : measuring);
    },
  };
}

const multipart =
  (bucket: Bucket, at: number): Sample =>
  async (send) => {
    const path = `/${bucket.name}/parts-${at}`;
    const as = bucket.key;
    const { text } = await send({ method: 'POST', path, query: { uploads: '' }, as });
    const uploadId = /<UploadId>(.*?)<\/UploadId>/.exec(text)?.[1] ?? '';
    const parts: string[] = [];
    for (const [at, body] of [LARGE.subarray(0, 8 * MIB), LARGE.subarray(8 * MIB)].entries()) {
      const query = { partNumber: String(at + 1), uploadId };
      const { response } = await send({ method: 'PUT', path, query, body, as });
      parts.push(`<Part><PartNumber>${at + 1}</PartNumber><ETag>${response.headers.get('etag')}</ETag></Part>`);
    }
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
    await send({ method: 'POST', path, query: { uploadId }, body, as });
  };

/** Delay of the last sample after the change, in milliseconds. By then, all replicas have applied it. */
const BEHIND_MS_MAX = 2_200;

/** Measures reads of a warm bucket. Each read begins some time after a change, while replicas may not have applied it yet. */
function readingBehind(operation: string, change: (globe: Globe) => Promise<() => Promise<unknown>>): Operation {
  return {
    operation,
    from: FROM,
    warm: true,
    async run(globe, samples) {
      const bucket = await makeBucket(globe);
      const { response } = await globe.send(null, put(bucket, 'x', SMALL));
      const call = get(bucket, 'x', response);
      await globe.send(FROM, call);
      const changes: (() => Promise<unknown>)[] = [];
      for (let at = 0; at < samples; at++) changes.push(await change(globe));
      const before = async (at: number) => {
        await changes[at]?.();
        await new Promise((resolve) => setTimeout(resolve, (at / (samples - 1)) * BEHIND_MS_MAX));
      };
      return globe.measure(FROM, { samples: times(samples, () => once(call)), before, floor: { floor: 'read-row' } });
    },
  };
}

const READ_ROW = ['read-row', 'read-row'] as const;
const READ_BLOB = ['read-row-and-blob', 'read-row-and-cache'] as const;
/** Number of cold samples of a listing. Each lists its own bucket of 1,000 objects. */
const LISTED_BUCKETS_MAX = 3;

/** Creates a bucket with 1,000 objects. @returns the call that lists them. */
async function makeListed(globe: Globe): Promise<Call> {
  const bucket = await makeBucket(globe);
  const names = times(LISTED, (at) => `n-${at}`);
  const workers = times(8, async () => {
    for (let name = names.pop(); name; name = names.pop()) await globe.send(null, put(bucket, name, SMALL));
  });
  await Promise.all(workers);
  return { method: 'GET', path: `/${bucket.name}`, query: { 'list-type': '2' }, as: bucket.key };
}

export const STORAGE: readonly Operation[] = [
  ...reading('get-4k', { body: SMALL, floors: READ_ROW, toCall: get, samples: SAMPLES_FOR_P99 }),
  ...reading('get-4k-from-gru', { body: SMALL, floors: READ_ROW, toCall: get, from: FROM_WITHOUT_REPLICA }),
  ...reading('get-1m', { body: MEDIUM, floors: READ_BLOB, toCall: get }),
  ...reading('get-1m-from-gru', { body: MEDIUM, floors: READ_BLOB, toCall: get, from: FROM_WITHOUT_REPLICA }),
  ...reading('get-1m-version', {
    body: MEDIUM,
    floors: READ_BLOB,
    toCall: (bucket, name, written) =>
      get(bucket, name, written, { query: { versionId: written.headers.get('x-amz-version-id') ?? 'null' } }),
  }),
  ...reading('head', {
    body: SMALL,
    floors: READ_ROW,
    toCall: (bucket, name, written) => get(bucket, name, written, { method: 'HEAD' }),
  }),
  ...reading('get-304', {
    body: SMALL,
    floors: READ_ROW,
    toCall: (bucket, name, written) =>
      get(bucket, name, written, { headers: { 'if-none-match': written.headers.get('etag') ?? '' } }),
  }),
  ...reading('get-public', {
    body: SMALL,
    floors: ['read-row', 'read-cache'],
    toCall: (bucket, name) => ({ method: 'GET', path: `/${bucket.name}/${name}` }),
    open: publish,
  }),
  readingBehind('get-4k-after-new-user', async (globe) => {
    return () => globe.setup('POST', '/v1/iam/users', { name: randomUUID() });
  }),
  readingBehind('get-4k-after-revocation', async (globe) => {
    const user = await globe.setup('POST', '/v1/iam/users', { name: randomUUID() });
    const { access_key_id } = await globe.setup('POST', `/v1/iam/users/${user.user_id}/access-keys`, {});
    return () => globe.setup('DELETE', `/v1/iam/access-keys/${access_key_id}`);
  }),
  ...[false, true].map(
    (warm): Operation => ({
      operation: 'list-1000',
      from: FROM,
      warm,
      async run(globe, samples) {
        const list = await makeListed(globe);
        const calls = warm ? times(samples, () => list) : [list];
        while (!warm && calls.length < Math.min(samples, LISTED_BUCKETS_MAX)) calls.push(await makeListed(globe));
        if (warm) await globe.send(FROM, list);
        return globe.measure(FROM, { samples: calls.map(once), floor: { floor: 'read-rows' } });
      },
    }),
  ),
  {
    ...writing('put-4k', WRITE_SMALL, (bucket, at) => once(put(bucket, `p-${at}`, SMALL))),
    samples: SAMPLES_FOR_P99,
  },
  writing('put-4k-from-gru', WRITE_SMALL, (bucket, at) => once(put(bucket, `g-${at}`, SMALL)), {
    from: FROM_WITHOUT_REPLICA,
  }),
  writing('put-4k-overwrite', WRITE_SMALL, (bucket, at) => once(put(bucket, `o-${at}`, SMALL)), {
    async prepare(globe, bucket, samples) {
      for (const at of times(samples, (each) => each)) await globe.send(null, put(bucket, `o-${at}`, SMALL));
    },
  }),
  writing('put-1m', { floor: 'put-twice-then-write', body: MEDIUM }, (bucket, at) =>
    once(put(bucket, `p-${at}`, MEDIUM)),
  ),
  writing('put-16m', { floor: 'put-twice-then-write', body: LARGE }, (bucket, at) =>
    once(put(bucket, `p-${at}`, LARGE)),
  ),
  writing('multipart-16m', undefined, multipart),
  writing('copy-4k', { floor: 'read-then-write' }, (bucket, at) =>
    once({
      method: 'PUT',
      path: `/${bucket.name}/c-${at}`,
      headers: { 'x-amz-copy-source': `/${bucket.name}/known` },
      as: bucket.key,
    }),
  ),
  writing('form-4k', WRITE_SMALL, (bucket, at) => async (send) => {
    const key = `f-${at}`;
    const body = signForm({
      credentials: bucket.key,
      conditions: (base) => [
        { bucket: bucket.name },
        { key },
        ...Object.entries(base).map(([name, value]) => ({ [name]: value })),
      ],
      fields: { key },
      body: FORM_TEXT,
    });
    await send({ method: 'POST', path: `/${bucket.name}`, headers: { 'content-type': FORM_TYPE }, body });
  }),
  writing(
    'delete',
    { floor: 'write-batch' },
    (bucket, at) => once({ method: 'DELETE', path: `/${bucket.name}/d-${at}`, as: bucket.key }),
    {
      async prepare(globe, bucket, samples) {
        for (const at of times(samples, (each) => each)) await globe.send(null, put(bucket, `d-${at}`, SMALL));
      },
    },
  ),
];
