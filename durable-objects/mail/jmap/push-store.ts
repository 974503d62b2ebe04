/**
 * Push subscriptions of clients (RFC 8620 §7.2). A subscription becomes active once its client has returned the code that was
 * pushed to it. It ends with the credential that made it. A push says only which types changed, so losing one only delays the
 * client.
 */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import { JMAP_TYPES, listChangedTypes } from '../contract/changed-types.ts';
import type {
  DuePush,
  NewPushSubscription,
  PushKeys,
  PushOutcome,
  PushSubscription,
  PushUpdate,
} from '../contract/push.ts';
import { readChanges, readState } from '../database/change-store.ts';
import { first } from '../database/store.ts';
import type { pushSubscription } from './schema.ts';

/** Delay of a push after a change, so that one push covers several changes. */
const PUSH_DELAY_MS = 1_000;
const SUBSCRIPTIONS_MAX = 50;
/** Failures in a row after which a subscription is deleted. With the retry delays, that takes about two hours. */
const FAILURES_MAX = 8;
const FIRST_RETRY_MS = 30_000;

type PushRow = RowOf<typeof pushSubscription>;
const COLUMNS = `subscription_id, credential_id, device_client_id, url, keys, types, code, is_verified, is_code_sent, pushed_state, failures,
  next_at, expires_at`;
const listAll = statement<Record<never, never>, PushRow>(
  `SELECT ${COLUMNS} FROM push_subscription ORDER BY subscription_id`,
);

const toSubscription = (row: PushRow): PushSubscription => ({
  id: row.subscription_id,
  deviceClientId: row.device_client_id,
  url: row.url,
  keys: row.keys === null ? null : (JSON.parse(row.keys) as PushKeys),
  types: row.types === null ? null : (JSON.parse(row.types) as string[]),
  expiresAt: row.expires_at,
  verificationCode: row.is_verified === 1 ? row.code : null,
});

/** @returns the subscriptions that were created with a credential (RFC 8620 §7.2.1). */
export const listSubscriptions = (sql: SqlStorage, credentialId: string, now: number): PushSubscription[] =>
  [...execute(sql, listAll, {})]
    .filter((row) => row.credential_id === credentialId && row.expires_at > now)
    .map(toSubscription);

const insert = statement<{
  id: string;
  credentialId: string;
  deviceClientId: string;
  url: string;
  keys: string | null;
  types: string | null;
  code: string;
  isVerified: number;
  state: number;
  now: number;
  expiresAt: number;
}>(
  `INSERT INTO push_subscription (subscription_id, credential_id, device_client_id, url, keys, types, code, is_verified, is_code_sent,
     pushed_state, failures, next_at, expires_at)
   VALUES (:id, :credentialId, :deviceClientId, :url, :keys, :types, :code, :isVerified, 0, :state, 0, :now, :expiresAt)`,
);

/** Inserts a subscription. Replaces a subscription with the same id. */
export function insertSubscription(
  sql: SqlStorage,
  credentialId: string,
  subscription: NewPushSubscription,
  now: number,
): Result<null, { readonly kind: 'too_many'; readonly what: string; readonly max: number }> {
  const all = [...execute(sql, listAll, {})].filter((row) => row.subscription_id !== subscription.id);
  execute(sql, remove, { id: subscription.id });
  for (const row of all) if (row.expires_at <= now) execute(sql, remove, { id: row.subscription_id });
  if (all.filter((row) => row.expires_at > now).length >= SUBSCRIPTIONS_MAX)
    return err({ kind: 'too_many', what: 'push subscriptions', max: SUBSCRIPTIONS_MAX });
  const { keys, types } = subscription;
  execute(sql, insert, {
    id: subscription.id,
    credentialId,
    deviceClientId: subscription.deviceClientId,
    url: subscription.url,
    code: subscription.code,
    isVerified: Number(subscription.isVerified),
    keys: keys && JSON.stringify(keys),
    types: types && JSON.stringify(types),
    state: readState(sql),
    now,
    expiresAt: subscription.expiresAt,
  });
  return ok(null);
}

const verify = statement<{ id: string; state: number }>(
  'UPDATE push_subscription SET is_verified = 1, pushed_state = :state WHERE subscription_id = :id',
);
const change = statement<{ id: string; types: string | null; expiresAt: number }>(
  'UPDATE push_subscription SET types = :types, expires_at = :expiresAt WHERE subscription_id = :id',
);

/** Updates a subscription. @returns false if the subscription is unknown or the verification code is wrong. */
export function updateSubscription(
  sql: SqlStorage,
  credentialId: string,
  id: string,
  update: PushUpdate,
  now: number,
): 'done' | 'not_found' | 'wrong_code' {
  const row = [...execute(sql, listAll, {})].find((each) => each.subscription_id === id);
  if (row?.credential_id !== credentialId || row.expires_at <= now) return 'not_found';
  if (update.verificationCode !== undefined && update.verificationCode !== row.code) return 'wrong_code';
  if (update.verificationCode !== undefined) execute(sql, verify, { id, state: readState(sql) });
  const types = update.types === undefined ? row.types : update.types && JSON.stringify(update.types);
  execute(sql, change, { id, types, expiresAt: update.expiresAt ?? row.expires_at });
  return 'done';
}

const remove = statement<{ id: string }>('DELETE FROM push_subscription WHERE subscription_id = :id');

export function deleteSubscription(sql: SqlStorage, credentialId: string, id: string): boolean {
  const isOwn = [...execute(sql, listAll, {})].some(
    (row) => row.subscription_id === id && row.credential_id === credentialId,
  );
  if (isOwn) execute(sql, remove, { id });
  return isOwn;
}

/** Deletes the subscriptions of ended credentials: of one (`only`), of all but one (`except`), or of all. */
export function endSubscriptions(sql: SqlStorage, which: { readonly only?: string; readonly except?: string }): void {
  for (const row of execute(sql, listAll, {})) {
    const isEnded = which.only === undefined ? row.credential_id !== which.except : row.credential_id === which.only;
    if (isEnded) execute(sql, remove, { id: row.subscription_id });
  }
}

/** @returns the pushes that are due now, one per subscription. */
export function listDuePushes(sql: SqlStorage, accountId: string, now: number): DuePush[] {
  const state = readState(sql);
  return [...execute(sql, listAll, {})].flatMap((row): DuePush[] => {
    const { id, url, keys, types } = toSubscription(row);
    if (row.expires_at <= now || row.next_at > now) return [];
    if (row.is_verified === 0) {
      const body = { '@type': 'PushVerification', pushSubscriptionId: id, verificationCode: row.code };
      return row.is_code_sent === 0 ? [{ id, url, keys, body: JSON.stringify(body), state: null }] : [];
    }
    if (row.pushed_state >= state) return [];
    const page = readChanges(sql, row.pushed_state);
    const changed = (page.resync || page.more ? JMAP_TYPES : listChangedTypes(page.changes)).filter(
      (type) => types === null || types.includes(type),
    );
    const states = Object.fromEntries(changed.map((type) => [type, String(state)]));
    const body = { '@type': 'StateChange', changed: { [accountId]: states } };
    return [{ id, url, keys, body: changed.length === 0 ? null : JSON.stringify(body), state }];
  });
}

/** @returns the time at which the next push is due; null if none is. */
export function nextPushAt(sql: SqlStorage, now: number): number | null {
  const times = [...execute(sql, listAll, {})].flatMap((row): number[] => {
    if (row.expires_at <= now) return [];
    if (row.is_verified === 0) return row.is_code_sent === 0 ? [row.next_at] : [];
    const change = first<{ at: number }>(
      sql,
      'SELECT changed_at AS at FROM change WHERE state > ? ORDER BY state LIMIT 1',
      row.pushed_state,
    );
    return change ? [Math.max(row.next_at, change.at + PUSH_DELAY_MS)] : [];
  });
  return times.length === 0 ? null : Math.min(...times);
}

const markDone = statement<{ id: string; state: number | null }>(
  `UPDATE push_subscription SET failures = 0, is_code_sent = 1, pushed_state = max(pushed_state, ifnull(:state, 0))
   WHERE subscription_id = :id`,
);
const markFailed = statement<{ id: string; nextAt: number }>(
  'UPDATE push_subscription SET failures = failures + 1, next_at = :nextAt WHERE subscription_id = :id',
);

export function recordPushes(
  sql: SqlStorage,
  pushes: readonly DuePush[],
  outcomes: readonly PushOutcome[],
  now: number,
): void {
  const rows = new Map([...execute(sql, listAll, {})].map((row) => [row.subscription_id, row]));
  for (const { id, result } of outcomes) {
    const failures = rows.get(id)?.failures ?? 0;
    if (result === 'gone' || (result === 'failed' && failures + 1 >= FAILURES_MAX)) execute(sql, remove, { id });
    else if (result === 'failed') {
      const nextAt = now + FIRST_RETRY_MS * 2 ** failures;
      execute(sql, markFailed, { id, nextAt });
    } else execute(sql, markDone, { id, state: pushes.find((push) => push.id === id)?.state ?? null });
  }
}
