/** Shared parts of the random operations on a mailbox: the mailbox together with its model, and messages for both. */
import { env, runInDurableObject } from 'cloudflare:test';
import fc from 'fast-check';
import type { StoreMessageInput } from '../../../durable-objects/mail/contract/delivered-message.ts';
import { putBlob, userPrefix } from '../../../workers/mail/bindings/blobs.ts';
import type { MailboxRpc } from '../../../workers/mail/bindings/mailbox.ts';
import { openBytes } from '../../../workers/mail/checks/opened-message.ts';
import { putDelivery } from '../../../workers/mail/inbound/process/delivery.ts';
import type { Result } from '../../../workers/shared/pure/result.ts';
import { type Model, type ModelMessage, type Threaded, WORDS } from './mailbox-model.ts';

export interface World {
  readonly userId: string;
  readonly mailbox: MailboxRpc;
  readonly model: Model;
}
export type Operation = (world: World) => Promise<void>;

export const DAY_MS = 24 * 3_600_000;
const ROLES = ['inbox', 'archive', 'junk', 'trash', 'sent', 'drafts'] as const;
const SUBJECTS = ['', '', 'Plan', 'Re: Plan', '[list] Topic', 'Re: Topic'] as const;

export const small = fc.nat({ max: 1_000 });
export const nth = <T>(items: readonly T[], n: number): T | undefined =>
  items.length === 0 ? undefined : items[n % items.length];
export const toId = (n: number) => `<m${n % 40}@x>`;

export const value = <T>(result: Result<T, unknown>): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

export const anyFolder = (model: Model, n: number): string =>
  nth([...ROLES.map((role) => model.role(role)), ...model.own.keys()], n) ?? model.role('inbox');

export const text = fc.record({
  own: fc.option(small, { freq: 8 }),
  parents: fc.array(small, { maxLength: 2 }),
  subject: fc.constantFrom(...SUBJECTS),
  words: fc.subarray([...WORDS]),
});
type Text = { own: number | null; parents: readonly number[]; subject: string; words: readonly string[] };

const toThreaded = ({ own, parents, subject }: Text, receivedAt: number): Threaded => ({
  receivedAt,
  ids: [...new Set([...parents.map(toId).reverse(), ...(own === null ? [] : [toId(own)])])],
  namesParent: parents.length > 0,
  subject,
});

/** Makes a message. @returns its raw bytes, as received by SMTP. */
function compose({ own, parents, subject, words }: Text, fileBytes: readonly number[]): Uint8Array {
  const headers = [
    'From: Far <far@elsewhere.test>',
    'To: user@example.test',
    ...(subject === '' ? [] : [`Subject: ${subject}`]),
    ...(own === null ? [] : [`Message-ID: ${toId(own)}`]),
    ...(parents.length === 0 ? [] : [`References: ${parents.map(toId).join(' ')}`]),
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
  ];
  const files = fileBytes.map((size, n) => {
    const kind = `Content-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=f${n}.bin`;
    return `--b\r\n${kind}\r\nContent-Transfer-Encoding: base64\r\n\r\n${btoa('x'.repeat(size))}\r\n`;
  });
  const body = `--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${words.join(' ')}\r\n`;
  return Buffer.from(`${headers.join('\r\n')}\r\n\r\n${body}${files.join('')}--b--\r\n`);
}

export interface Letter {
  readonly text: Text;
  readonly fileBytes: readonly number[];
  readonly folder: number;
  readonly isRead: boolean;
  readonly isFlagged: boolean;
  readonly hour: number;
  readonly origin: 'received' | 'imported' | 'sent';
  readonly applyRules: boolean;
}

export async function put({ userId, model }: World, given: Letter) {
  const delivery = await putDelivery(env, {
    userId,
    deliveryKey: crypto.randomUUID(),
    message: openBytes(compose(given.text, given.fileBytes)),
    receivedAt: Date.UTC(2026, 0, 1) + given.hour * 3_600_000,
    origin: given.origin,
    folder: given.origin === 'sent' ? model.role('sent') : anyFolder(model, given.folder),
    isRead: given.isRead,
    isFlagged: given.isFlagged,
    labels: [],
    envelopeFrom: 'far@elsewhere.test',
    envelopeTo: null,
    spam: null,
    authentication: null,
    applyRules: given.applyRules,
    enforceQuota: given.origin !== 'sent',
  });
  return given.origin === 'sent' ? withFileObjects(userId, delivery) : delivery;
}

/** The files of a sent message have R2 objects of their own, because they become uploads again if the message is canceled. */
async function withFileObjects(userId: string, { input, written }: Awaited<ReturnType<typeof putDelivery>>) {
  const keys: string[] = [];
  const attachments: StoreMessageInput['parsed']['attachments'][number][] = [];
  for (const { range: _, ...attachment } of input.parsed.attachments) {
    const r2Key = `${userPrefix(userId)}sent/${crypto.randomUUID()}`;
    await putBlob(env, r2Key, 'x'.repeat(attachment.sizeBytes));
    keys.push(r2Key);
    attachments.push({ ...attachment, r2Key });
  }
  return { input: { ...input, parsed: { ...input.parsed, attachments } }, written: [...written, ...keys] };
}

export function addMessage(model: Model, id: string, given: Letter, input: StoreMessageInput): void {
  const threaded = toThreaded(given.text, input.receivedAt);
  const message: ModelMessage = {
    id,
    origin: given.origin,
    folder: input.folder,
    isRead: given.isRead,
    isFlagged: given.isFlagged,
    labels: [],
    sizeBytes: input.sizeBytes,
    words: given.text.words,
    hasFile: given.fileBytes.length > 0,
    receivedAt: input.receivedAt,
    thread: model.assign(threaded),
    threaded,
    rawSha256: input.rawSha256,
    revision: 0,
    isHeld: given.origin === 'sent',
    fileBytes: given.fileBytes,
  };
  const rules = model.rules.map(({ rule }) => rule);
  if (given.applyRules) model.follow(rules, message);
  model.messages.push(message);
}

/** Runs a step of the mailbox alarm at a given time. */
export const atTime = (world: World, now: number, work: (sql: SqlStorage, now: number) => void) =>
  runInDurableObject(world.mailbox as unknown as DurableObjectStub, (_, state) =>
    state.storage.transactionSync(() => work(state.storage.sql, now)),
  );
