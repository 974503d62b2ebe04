/** SQL of masked addresses, in the database of their user. */

import type { MessageDetail } from '../../../durable-objects/mail/contract/messages.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { prepare, readAll, readFirst, statement } from '../../shared/stores/statement.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { isOpen, type MaskedFacts, toEffectiveState } from '../domain/masked-state.ts';
import { HIDDEN_RECIPIENT } from '../domain/written-fields.ts';

export interface MaskedAddress extends MaskedFacts {
  readonly email: string;
  readonly note: string;
  readonly forDomain: string;
  readonly url: string | null;
  readonly createdBy: string;
}

const COLUMNS = `k.email, k.state, k.note, k.for_domain AS forDomain, k.url, k.created_by AS createdBy,
  k.created_at AS createdAt, k.last_message_at AS lastMessageAt`;
/** An address of which only the row here was written, because its creation was interrupted, is not one of the user's. */
const OWN = 'FROM mail_masked_address AS k JOIN mail_address AS a ON a.email = k.email AND a.user_id = k.user_id';

const list = statement<{ userId: string }, MaskedAddress>(
  `SELECT ${COLUMNS} ${OWN} WHERE k.user_id = :userId ORDER BY k.created_at DESC, k.email`,
);
const find = statement<{ userId: string; email: string }, MaskedAddress>(
  `SELECT ${COLUMNS} ${OWN} WHERE k.email = :email AND k.user_id = :userId`,
);
const reserve = statement<Omit<MaskedAddress, 'lastMessageAt'> & { userId: string; max: number }>(
  `INSERT INTO mail_masked_address (email, user_id, state, note, for_domain, url, created_by, created_at)
   SELECT :email, :userId, :state, :note, :forDomain, :url, :createdBy, :createdAt
   WHERE (SELECT COUNT(*) FROM mail_masked_address WHERE user_id = :userId) < :max ON CONFLICT DO NOTHING`,
);
const count = statement<{ userId: string }, { rows: number }>(
  'SELECT COUNT(*) AS rows FROM mail_masked_address WHERE user_id = :userId',
);
const release = statement<{ userId: string; email: string }>(
  'DELETE FROM mail_masked_address WHERE email = :email AND user_id = :userId',
);
const update = statement<Pick<MaskedAddress, 'state' | 'note' | 'forDomain' | 'url' | 'email'> & { userId: string }>(
  `UPDATE mail_masked_address SET state = :state, note = :note, for_domain = :forDomain, url = :url
   WHERE email = :email AND user_id = :userId`,
);
const touch = statement<{ email: string; now: number }>(
  `UPDATE mail_masked_address SET last_message_at = :now,
     state = CASE state WHEN 'pending' THEN 'enabled' ELSE state END WHERE email = :email`,
);

/** Lists the masked addresses of a user with their state as of now, newest first, with those that were ended. */
export async function listMasked(env: Env, userId: string): Promise<MaskedAddress[]> {
  const now = createClock(env)();
  const rows = await readAll(userDatabaseOf(env, userId), list, { userId });
  return rows.map((row) => ({ ...row, state: toEffectiveState(row, now) }));
}

/** Lists the masked addresses of a user that receive mail and may be senders. */
export async function listOpenMasked(env: Env, userId: string): Promise<string[]> {
  const now = createClock(env)();
  return (await listMasked(env, userId)).filter((row) => isOpen(row, now)).map(({ email }) => email);
}

/** @returns the masked address to which a message came, also if it ended; null for any other message. */
export async function findMaskedRecipient(
  env: Env,
  userId: string,
  { to, cc, headers }: Pick<MessageDetail, 'to' | 'cc' | 'headers'>,
): Promise<MaskedAddress | null> {
  const hidden = headers.findLast(({ name }) => name === HIDDEN_RECIPIENT)?.value ?? '';
  const received = [hidden, ...[...to, ...cc].map(({ email }) => email.toLowerCase())];
  return (await listMasked(env, userId)).find(({ email }) => received.includes(email)) ?? null;
}

export const findMasked = (env: Env, userId: string, email: string): Promise<MaskedAddress | null> =>
  readFirst(userDatabaseOf(env, userId), find, { userId, email });

/**
 * Reserves a row before the address is issued. @returns `too_many` if the user has `max` of them, ended ones included; `taken` if
 * another row has the address.
 */
export async function reserveMasked(
  env: Env,
  userId: string,
  address: Omit<MaskedAddress, 'lastMessageAt'>,
  max: number,
): Promise<'reserved' | 'taken' | 'too_many'> {
  const database = userDatabaseOf(env, userId);
  const { meta } = await prepare(database, reserve, { ...address, userId, max }).run();
  if (meta.changes > 0) return 'reserved';
  return ((await readFirst(database, count, { userId }))?.rows ?? 0) >= max ? 'too_many' : 'taken';
}

/** Removes a reserved row whose address was issued to somebody else. */
export async function releaseMasked(env: Env, userId: string, email: string): Promise<void> {
  await prepare(userDatabaseOf(env, userId), release, { userId, email }).run();
}

export async function updateMasked(
  env: Env,
  userId: string,
  { email, state, note, forDomain, url }: Pick<MaskedAddress, 'email' | 'state' | 'note' | 'forDomain' | 'url'>,
): Promise<void> {
  await prepare(userDatabaseOf(env, userId), update, { userId, email, state, note, forDomain, url }).run();
}

/** Precision of `last_message_at`, so that a busy address costs one row per hour. */
const TOUCH_MS = 3_600_000;

/** Records that mail came to a masked address. The first message enables a pending one. A failure is only logged. */
export async function noteMaskedArrival(
  env: Env,
  {
    userId,
    deliveredTo,
    masked,
  }: { readonly userId: string; readonly deliveredTo: string; readonly masked: MaskedFacts | null },
): Promise<void> {
  const now = createClock(env)();
  if (masked === null) return;
  const { state, lastMessageAt } = masked;
  if (state !== 'pending' && lastMessageAt !== null && now - lastMessageAt < TOUCH_MS) return;
  await prepare(userDatabaseOf(env, userId), touch, { email: deliveredTo, now })
    .run()
    .catch((error: unknown) => logError('masked_arrival_failed', error));
}
