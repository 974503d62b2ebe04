/** The measured operations. The client is in Sydney and the primaries are in Ashburn, unless the operation says otherwise. */
import { randomBytes, randomUUID } from 'node:crypto';
import { FORM_TYPE, signForm } from '../../test/support/s3-form.ts';
import type { Call, Globe, Key, Measured, Sample } from './globe.ts';
import type { Region } from './world.ts';

export interface Operation {
  readonly operation: string;
  readonly from: Region;
  readonly warm: boolean;
  run(globe: Globe, samples: number): Promise<Measured>;
}

const KIB = 1024;
const MIB = 1024 ** 2;
const SMALL = randomBytes(4 * KIB);
const MEDIUM = randomBytes(MIB);
const LARGE = randomBytes(16 * MIB);
const FORM_TEXT = 'a form '.repeat(585);
const LISTED = 1_000;
const FROM: Region = 'syd';

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

interface Bucket {
  readonly name: string;
  readonly key: Key;
}

/** A new user with a bucket, unknown to the measured isolate. */
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
const get = (bucket: Bucket, name: string, more: Partial<Call> = {}): Call => ({
  method: 'GET',
  path: `/${bucket.name}/${name}`,
  as: bucket.key,
  ...more,
});

/** Reads: each cold sample has a bucket and a key of its own, warm ones share them. */
function reading(
  operation: string,
  body: Uint8Array<ArrayBuffer>,
  toCall: (bucket: Bucket, name: string, written: Response) => Call | Promise<Call>,
  open: (globe: Globe, bucket: Bucket) => Promise<void> = async () => {},
): Operation[] {
  const prepare = async (globe: Globe, bucket: Bucket) => {
    await open(globe, bucket);
    const { response } = await globe.send(null, put(bucket, 'x', body));
    return toCall(bucket, 'x', response);
  };
  return [false, true].map((warm) => ({
    operation,
    from: FROM,
    warm,
    async run(globe, samples) {
      const calls: Call[] = [];
      const shared = await makeBucket(globe);
      for (let at = 0; at < samples; at++) calls.push(await prepare(globe, warm ? shared : await makeBucket(globe)));
      if (warm && calls[0]) await globe.send(FROM, calls[0]);
      return globe.measure(
        FROM,
        calls.map(
          (call): Sample =>
            async (send) =>
              void (await send(call)),
        ),
      );
    },
  }));
}

/** Makes the bucket public, and lets a cache answer. */
async function publish(globe: Globe, { name, key }: Bucket): Promise<void> {
  const Statement = [{ Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${name}/*` }];
  const policy = JSON.stringify({ Version: '2012-10-17', Statement });
  const tag = '<Tag><Key>tessera:public-cache-seconds</Key><Value>3600</Value></Tag>';
  const tagging = `<Tagging><TagSet>${tag}</TagSet></Tagging>`;
  for (const [kind, body] of Object.entries({ policy, tagging })) {
    await globe.send(null, { method: 'PUT', path: `/${name}`, query: { [kind]: '' }, body, as: key });
  }
}

/** Writes to a bucket that the isolate knows. Afterwards the objects are packed and the journal is written. */
function writing(
  operation: string,
  toSample: (bucket: Bucket, at: number) => Sample,
  prepare: (globe: Globe, bucket: Bucket, samples: number) => Promise<void> = async () => {},
): Operation {
  return {
    operation,
    from: FROM,
    warm: true,
    async run(globe, samples) {
      const bucket = await makeBucket(globe, true);
      await globe.send(FROM, put(bucket, 'known', SMALL));
      await prepare(globe, bucket, samples);
      const after = async () => {
        await globe.maintain();
        await globe.pack();
      };
      await after();
      return globe.measure(
        FROM,
        times(samples, (at) => toSample(bucket, at)),
        after,
      );
    },
  };
}

const once =
  (call: Call): Sample =>
  async (send) =>
    void (await send(call));

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

const STORAGE: readonly Operation[] = [
  ...reading('get-4k', SMALL, (bucket, name) => get(bucket, name)),
  ...reading('get-1m', MEDIUM, (bucket, name) => get(bucket, name)),
  ...reading('get-1m-version', MEDIUM, (bucket, name, written) =>
    get(bucket, name, { query: { versionId: written.headers.get('x-amz-version-id') ?? 'null' } }),
  ),
  ...reading('head', SMALL, (bucket, name) => get(bucket, name, { method: 'HEAD' })),
  ...reading('get-304', SMALL, (bucket, name, written) =>
    get(bucket, name, { headers: { 'if-none-match': written.headers.get('etag') ?? '' } }),
  ),
  ...reading('get-public', SMALL, (bucket, name) => ({ method: 'GET', path: `/${bucket.name}/${name}` }), publish),
  ...[false, true].map(
    (warm): Operation => ({
      operation: 'list-1000',
      from: FROM,
      warm,
      async run(globe) {
        const bucket = await makeBucket(globe);
        const names = times(LISTED, (at) => `n-${at}`);
        const workers = times(8, async () => {
          for (let name = names.pop(); name; name = names.pop()) await globe.send(null, put(bucket, name, SMALL));
        });
        await Promise.all(workers);
        const list: Call = { method: 'GET', path: `/${bucket.name}`, query: { 'list-type': '2' }, as: bucket.key };
        if (warm) await globe.send(FROM, list);
        return globe.measure(FROM, [once(list)]);
      },
    }),
  ),
  writing('put-4k', (bucket, at) => once(put(bucket, `p-${at}`, SMALL))),
  writing(
    'put-4k-overwrite',
    (bucket, at) => once(put(bucket, `o-${at}`, SMALL)),
    async (globe, bucket, samples) => {
      for (const at of times(samples, (each) => each)) await globe.send(null, put(bucket, `o-${at}`, SMALL));
    },
  ),
  writing('put-1m', (bucket, at) => once(put(bucket, `p-${at}`, MEDIUM))),
  writing('put-16m', (bucket, at) => once(put(bucket, `p-${at}`, LARGE))),
  writing('multipart-16m', multipart),
  writing('copy-4k', (bucket, at) =>
    once({
      method: 'PUT',
      path: `/${bucket.name}/c-${at}`,
      headers: { 'x-amz-copy-source': `/${bucket.name}/known` },
      as: bucket.key,
    }),
  ),
  writing('form-4k', (bucket, at) => async (send) => {
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
    (bucket, at) => once({ method: 'DELETE', path: `/${bucket.name}/d-${at}`, as: bucket.key }),
    async (globe, bucket, samples) => {
      for (const at of times(samples, (each) => each)) await globe.send(null, put(bucket, `d-${at}`, SMALL));
    },
  ),
];

interface Person {
  readonly email: string;
  readonly userId: string;
  readonly token: string;
  readonly inbox: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** Registers in the client's region, so that the mailbox is there, and receives some mail. */
async function makePerson(globe: Globe, mails: number): Promise<Person> {
  const name = `p${randomUUID().slice(0, 8)}`;
  const email = `${name}@example.test`;
  const body = JSON.stringify({ email, password: 'correct horse battery', name });
  const { text } = await globe.send(FROM, { method: 'POST', path: '/v1/auth/register', headers: JSON_TYPE, body });
  const { token, user } = JSON.parse(text);
  for (const at of times(mails, (each) => each)) await receive(globe, email, `seed ${at}`);
  await globe.settle();
  const folders = JSON.parse((await globe.send(FROM, { method: 'GET', path: '/v1/folders', as: token })).text);
  const inbox = folders.find((folder: { role: string }) => folder.role === 'inbox').id;
  return { email, userId: user.user_id, token, inbox };
}

const WORDS = Array.from({ length: 80 }, (_, at) => `word${at}`).join(' ');
const inbound = (email: string, subject: string): Call => ({
  method: 'POST',
  path: '/v1/inbound',
  as: 'root-of-the-benchmark',
  headers: {
    'x-envelope-from': 'far@elsewhere.test',
    'x-envelope-to': email,
    'x-client-ip': '192.0.2.1',
    'x-helo': 'x',
  },
  body: [
    'From: Far <far@elsewhere.test>',
    `To: ${email}`,
    `Subject: ${subject}`,
    `Message-ID: <${randomUUID()}@elsewhere.test>`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    '',
    WORDS,
    '',
  ].join('\r\n'),
});
const receive = (globe: Globe, email: string, subject: string) => globe.send('iad', inbound(email, subject));

const mailRead = (operation: string, toCall: (person: Person, id: string) => Call): Operation => ({
  operation,
  from: FROM,
  warm: true,
  async run(globe, samples) {
    const person = await makePerson(globe, 10);
    const list: Call = { method: 'GET', path: `/v1/folders/${person.inbox}/messages`, as: person.token };
    const { data } = JSON.parse((await globe.send(FROM, list)).text);
    const call = toCall(person, data[0].id);
    await globe.send(FROM, call);
    return globe.measure(
      FROM,
      times(samples, () => once(call)),
    );
  },
});

const JMAP = ['core', 'mail'].map((name) => `urn:ietf:params:jmap:${name}`);
const LIST_PROPERTIES = [
  'threadId',
  'mailboxIds',
  'keywords',
  'from',
  'subject',
  'receivedAt',
  'hasAttachment',
  'preview',
];
/** Mailboxes, and the newest messages of the inbox by a reference to the query before: one request. */
const firstScreen = ({ userId: accountId, token, inbox }: Person): Call => ({
  method: 'POST',
  path: '/v1/jmap/api',
  as: token,
  headers: JSON_TYPE,
  body: JSON.stringify({
    using: JMAP,
    methodCalls: [
      ['Mailbox/get', { accountId }, 'a'],
      ['Email/query', { accountId, filter: { inMailbox: inbox }, collapseThreads: true, limit: 50 }, 'b'],
      [
        'Email/get',
        { accountId, '#ids': { resultOf: 'b', name: 'Email/query', path: '/ids' }, properties: LIST_PROPERTIES },
        'c',
      ],
    ],
  }),
});

const MAIL: readonly Operation[] = [
  mailRead('mail-list', ({ token, inbox }) => ({ method: 'GET', path: `/v1/folders/${inbox}/messages`, as: token })),
  mailRead('mail-open', ({ token }, id) => ({ method: 'GET', path: `/v1/messages/${id}`, as: token })),
  mailRead('mail-search', ({ token }) => ({ method: 'GET', path: '/v1/messages', query: { q: 'word7' }, as: token })),
  mailRead('jmap-first-screen', firstScreen),
  {
    operation: 'mail-in',
    from: 'iad',
    warm: true,
    async run(globe, samples) {
      const { email } = await makePerson(globe, 3);
      return globe.measure(
        'iad',
        times(samples, (at) => once(inbound(email, `first ${at} ${randomUUID()}`))),
      );
    },
  },
  {
    operation: 'mail-out',
    from: FROM,
    warm: true,
    async run(globe, samples) {
      const { token } = await makePerson(globe, 3);
      const send = (at: number): Call => ({
        method: 'POST',
        path: '/v1/messages',
        as: token,
        headers: JSON_TYPE,
        body: JSON.stringify({ to: [{ email: 'far@elsewhere.test' }], subject: `out ${at}`, body: WORDS }),
      });
      await globe.send(FROM, send(-1));
      return globe.measure(
        FROM,
        times(samples, (at) => once(send(at))),
      );
    },
  },
];

let board: Promise<string> | undefined;
/** Twenty players, posted from the home region, so that the objects are there. @returns the token of the game server. */
function makeBoard(globe: Globe): Promise<string> {
  board ??= (async () => {
    const { token } = await globe.setup('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
    for (const at of times(20, (each) => each)) await globe.send('iad', post(token, `player-${at}`));
    return token;
  })();
  return board;
}
const post = (token: string, userId: string): Call => ({
  method: 'POST',
  path: '/v1/scores',
  as: token,
  headers: JSON_TYPE,
  body: JSON.stringify({ user_id: userId, points: 7, event_id: randomUUID() }),
});

const boardCall = (operation: string, toCall: (token: string, at: number) => Call): Operation => ({
  operation,
  from: FROM,
  warm: true,
  async run(globe, samples) {
    const token = await makeBoard(globe);
    await globe.send(FROM, toCall(token, 0));
    return globe.measure(
      FROM,
      times(samples, (at) => once(toCall(token, at))),
    );
  },
});

const BOARD: readonly Operation[] = [
  boardCall('board-top', () => ({ method: 'GET', path: '/v1/scores' })),
  boardCall('board-rank', () => ({ method: 'GET', path: '/v1/scores/player-7' })),
  boardCall('board-neighbors', () => ({ method: 'GET', path: '/v1/scores/player-7/neighbors' })),
  boardCall('board-post', (token, at) => post(token, `player-${at % 20}`)),
  boardCall('board-batch', (token) => ({
    method: 'POST',
    path: '/v1/scores/batch',
    as: token,
    headers: JSON_TYPE,
    body: JSON.stringify({
      updates: times(100, (at) => ({ user_id: `player-${at % 20}`, points: 1, event_id: randomUUID() })),
    }),
  })),
];

export const OPERATIONS: readonly Operation[] = [...STORAGE, ...MAIL, ...BOARD];
