/** Attacks on upload forms (POST policies) and on uploads in signed chunks. */
import type { Credentials } from '../../../support/storage/s3-client.ts';
import { FORM_TYPE, signForm } from '../../../support/storage/s3-form.ts';
import { encodeSignedChunks } from '../../../support/storage/s3-raw.ts';
import { type Attack, type Reply, send, sendSigned } from './attack.ts';
import type { World } from './world.ts';

interface Form {
  readonly credentials?: Credentials;
  /** Form fields that replace or extend those of a valid form. Null removes a field. */
  readonly fields?: Readonly<Record<string, string | null>>;
  readonly conditions?: readonly unknown[];
  readonly expiresInMs?: number;
  readonly body?: string;
  readonly bucket?: string;
  /** Changes the form's policy after it was signed. */
  readonly swapPolicy?: (policy: string) => string;
}

/** Posts a form that alice signed for keys under `drop/` of `alice-private` and for at most 100 bytes. */
export function postForm(world: World, form: Form = {}): Promise<Reply> {
  const { conditions } = form;
  const good = (base: Readonly<Record<string, string>>) => [
    { bucket: 'alice-private' },
    ['starts-with', '$key', 'drop/'],
    ['content-length-range', 1, 100],
    ...Object.entries(base).map(([name, value]) => ({ [name]: value })),
  ];
  const body = signForm({
    ...form,
    credentials: form.credentials ?? world.alice,
    conditions: conditions ? () => conditions : good,
    fields: { key: 'drop/file.txt', ...form.fields },
  });
  return send(world, 'POST', `/${form.bucket ?? 'alice-private'}`, { headers: { 'content-type': FORM_TYPE }, body });
}

const recode = (change: (policy: string) => string) => (policy: string) =>
  Buffer.from(change(Buffer.from(policy, 'base64').toString())).toString('base64');

const FORMS: readonly (readonly [string, Form])[] = [
  ['with a key outside its prefix', { fields: { key: 'secret.txt' } }],
  ['with a key that climbs out of its prefix', { fields: { key: '../secret.txt' } }],
  ['that expired', { expiresInMs: -60_000 }],
  ['with a file that is too large', { body: 'x'.repeat(101) }],
  ['with an empty file below the least size', { body: '' }],
  ['for another bucket', { bucket: 'alice-versions' }],
  ['with an ACL that its policy does not name', { fields: { acl: 'public-read' } }],
  ['with metadata that its policy does not name', { fields: { 'x-amz-meta-injected': 'yes' } }],
  ['with metadata under the other prefix', { fields: { 'x-meta-injected': 'yes' } }],
  ['with a content type that its policy does not name', { fields: { 'Content-Type': 'text/html' } }],
  ['with a redirect that its policy does not name', { fields: { success_action_redirect: 'https://evil.test/' } }],
  ['without its policy', { fields: { policy: null } }],
  ['without its signature', { fields: { 'x-amz-signature': null } }],
  ['without its credential', { fields: { 'x-amz-credential': null } }],
  ['with a signature of zeros', { fields: { 'x-amz-signature': '0'.repeat(64) } }],
  ['with a policy that lives longer', { swapPolicy: recode((policy) => policy.replace(/"20\d\d/, '"2099')) }],
  ['with a policy of another prefix', { swapPolicy: recode((policy) => policy.replace('drop/', '')) }],
  ['with a policy that is empty', { swapPolicy: () => '' }],
  ['with a policy that is not JSON', { swapPolicy: () => Buffer.from('{').toString('base64') }],
  ['with an unknown operator in its policy', { conditions: [['ends-with', '$key', 'txt']] }],
];

const chunks = (
  name: string,
  change: (body: Buffer, headers: Record<string, string>) => Buffer,
  length?: number,
): Attack => ({
  name: `an upload in signed chunks ${name}`,
  attempt: (world) => {
    const path = '/alice-private/chunks.txt';
    const pieces = [Buffer.alloc(65_536, 'a'), Buffer.from('tail')];
    const { headers, body } = encodeSignedChunks(world.server.url, world.alice, path, pieces, length);
    return send(world, 'PUT', path, { headers, body: change(body, headers) });
  },
  refusal: [400, 403],
  gotThrough: async (_, world) => {
    const { status } = await sendSigned(world, world.alice, 'GET', '/alice-private/chunks.txt');
    return status === 404 ? null : `the object was stored: ${status}`;
  },
});
const edit = (from: string | RegExp, to: string) => (body: Buffer) =>
  Buffer.from(body.toString('latin1').replace(from, to), 'latin1');

export const FORM_ATTACKS: readonly Attack[] = [
  ...FORMS.map(
    ([name, form]): Attack => ({
      name: `a form ${name}`,
      attempt: (world) => postForm(world, form),
      refusal: [400, 403],
    }),
  ),
  {
    name: "a form for alice's bucket that mallory signed",
    attempt: (world) => postForm(world, { credentials: world.mallory }),
    refusal: [403],
  },
  {
    name: 'a form that a revoked key signed',
    attempt: (world) => postForm(world, { credentials: world.revokedKey }),
    refusal: [403],
  },
  chunks('with other bytes in a chunk', edit('tail', 'TAIL')),
  chunks('with a wrong signature of a chunk', edit(/chunk-signature=\w{4}/, 'chunk-signature=0000')),
  chunks('with no signature of a chunk', edit(/;chunk-signature=\w+/, '')),
  chunks('with the last chunk left out', (body) => body.subarray(0, body.lastIndexOf('0;chunk-signature'))),
  chunks('with a chunk left out', edit(/4;chunk-signature=\w+\r\ntail\r\n/, '')),
  chunks('with another decoded length', (body) => body, 10),
  chunks('with a chunk size that is too large', edit(/^10000;/, 'fffffffff;')),
  chunks('with a negative chunk size', edit(/^10000;/, '-1;')),
  chunks('with the signed seed of another payload mode', (body, headers) => {
    headers['x-amz-content-sha256'] = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';
    return body;
  }),
];
