/** Steps of a trial that use the products as their users do. */
import { randomBytes } from 'node:crypto';
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { call, type Facts, type Known, need, type Step, type TrialWorld, toS3Client, until } from './world.ts';

const OBJECT_BYTES = 4_096;
/** Email Service and the receiving server may take a while. */
const MAIL_MS = 180_000;

async function deploy(world: TrialWorld): Promise<Facts> {
  await world.platform.deploy([], world.signal);
  return { health: await call(world, ['GET', '/v1/health'], undefined, { token: null }) };
}

/** The first task of storage: a user, a key, a bucket, an object that is read back. */
async function useStorage(world: TrialWorld, known: Known): Promise<Facts> {
  const { user_id } = await call(world, ['POST', '/v1/iam/users'], { name: 'trial' });
  const key = await call(world, ['POST', `/v1/iam/users/${user_id}/access-keys`], {});
  const s3 = toS3Client(world, key.access_key_id, key.secret_access_key);
  const bucket = `${world.name}-photos`;
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  Object.assign(known, { s3, bucket });
  await putObject(known, 'first', randomBytes(OBJECT_BYTES));
  return { client: 'AWS SDK for JavaScript' };
}

/** Stores an object, and reads it back. @throws Error if other bytes come back. */
export async function putObject(known: Known, name: string, bytes: Uint8Array): Promise<void> {
  const [s3, Bucket] = [need(known, 's3'), need(known, 'bucket')];
  await s3.send(new PutObjectCommand({ Bucket, Key: name, Body: bytes }));
  await expectObject(known, name, bytes);
}

/** @throws Error if the object has other bytes. */
export async function expectObject(known: Known, name: string, bytes: Uint8Array): Promise<void> {
  const { Body } = await need(known, 's3').send(new GetObjectCommand({ Bucket: need(known, 'bucket'), Key: name }));
  const found = await Body?.transformToByteArray();
  if (!found || Buffer.compare(found, bytes) !== 0) throw new Error(`the object ${name} came back with other bytes`);
}

/** The first task of the leaderboard: a token, a post, the list with the rank. */
async function useLeaderboard(world: TrialWorld, known: Known): Promise<Facts> {
  const { token } = await call(world, ['POST', '/v1/iam/tokens'], { name: 'game', scopes: ['scores:write'] });
  known.scoreToken = token;
  await postScore(world, token, 'ada');
  const { data } = await call(world, ['GET', '/v1/scores?exact=1'], undefined, { token: null });
  const found = data.find((entry: { user_id: string }) => entry.user_id === 'ada');
  if (found?.rank !== 1) throw new Error(`the player who posted has the rank ${found?.rank}`);
  return { client: 'HTTP' };
}

export const postScore = (world: TrialWorld, token: string, userId: string): Promise<unknown> =>
  call(world, ['POST', '/v1/scores'], { user_id: userId, user_name: userId, points: 3 }, { token });

/** The first task of mail: an account, a mail to itself that arrives, and one mail that leaves. */
async function useMail(world: TrialWorld, known: Known): Promise<Facts> {
  const { invite } = await call(world, ['POST', '/v1/invites'], {});
  const email = `${world.name}@${world.mailDomain}`;
  const password = randomBytes(18).toString('base64url');
  const body = { email, password, name: 'Trial', invite };
  const { token } = await call(world, ['POST', '/v1/auth/register'], body, { token: null });
  Object.assign(known, { mailToken: token, email });
  await sendMail(world, token, email, 'To myself');
  const arrived = () => findInInbox(world, token, 'To myself');
  await until(world, 'the mail to itself in the inbox', MAIL_MS, arrived);
  if (world.mailTo === '') return { out: 'not tried: no --mail-to' };
  const { id } = await sendMail(world, token, world.mailTo, `Trial of Tessera ${world.name}`);
  const state = await until(world, `the mail to ${world.mailTo} has left`, MAIL_MS, async () => {
    const { delivery } = await call(world, ['GET', `/v1/messages/${id}`], undefined, { token });
    const [{ state: now }] = delivery;
    if (now === 'failed') throw new Error(`the mail to ${world.mailTo} failed: ${JSON.stringify(delivery)}`);
    return now === 'sent' || now === 'delivered' ? String(now) : undefined;
  });
  return { out: state };
}

export const sendMail = (world: TrialWorld, token: string, email: string, subject: string): Promise<{ id: string }> =>
  call(world, ['POST', '/v1/messages'], { to: [{ email }], subject, body: 'A trial of Tessera.' }, { token });

async function findInInbox(world: TrialWorld, token: string, subject: string): Promise<true | undefined> {
  const folders = await call(world, ['GET', '/v1/folders'], undefined, { token });
  const { id } = folders.find(({ role }: { role: string }) => role === 'inbox');
  const { data } = await call(world, ['GET', `/v1/folders/${id}/messages`], undefined, { token });
  return data.some((message: { subject: string }) => message.subject === subject) || undefined;
}

export const PRODUCT_STEPS: readonly Step[] = [
  { name: 'deploy', run: deploy },
  { name: 'storage', run: useStorage },
  { name: 'leaderboard', run: useLeaderboard },
  { name: 'mail', run: useMail },
];
