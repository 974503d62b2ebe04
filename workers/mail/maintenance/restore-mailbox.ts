/**
 * Puts one mailbox back to an earlier state, and replays what must hold of the later one. `durable-objects/mail/messages/restore-store.ts`
 * says what that is; docs/design/restores.md has the order of the steps.
 */
import { PUT_BACK } from '../../../durable-objects/mail/contract/recovery.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { locationsOf } from '../../shared/stores/bindings.ts';
import { unguardedEnv } from '../../shared/stores/guarded-database.ts';
import { forgetObjectNumbers, readObjectNumbers, writeObjectNumbers } from '../../shared/stores/object-ages.ts';
import { isMissingCall } from '../../shared/stores/object-namespace.ts';
import { OlderStoreError } from '../../shared/stores/store-age.ts';
import { logInfo } from '../../shared/telemetry/log.ts';
import { getBlob, putBlob, userPrefix } from '../bindings/blobs.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { openOwner } from '../bindings/namespace-owner.ts';
import { recoverSince } from './recover-messages.ts';

/** Time after which every isolate has read the list of mailboxes that are put back. Until then, the mailbox itself refuses calls. */
const KNOWN_EVERYWHERE_MS = 11_000;

const toHeldKey = (userId: string, number: number): string => `${userPrefix(userId)}restore/${number}`;

/** Changes the list of mailboxes that were put back: first in the object that keeps it, then in every location. */
async function changeNumbers(env: Env, userId: string, number: number | null): Promise<void> {
  const list = await openOwner(env).changeNumbers(await readObjectNumbers(env, 'mailboxes'), userId, number);
  await writeObjectNumbers(locationsOf(env), 'mailboxes', list);
  forgetObjectNumbers(env, 'mailboxes');
}

/** Reads the bookmark of the present state, or of the state at a time. @returns null if the platform has none. */
export async function readBookmark(guarded: Env, userId: string, time: number | null): Promise<string | null> {
  try {
    return await openMailbox(unguardedEnv(guarded), userId).readBookmark(time);
  } catch (error) {
    if (isMissingCall(error) || (error as { remote?: boolean }).remote !== true) throw error;
    logInfo('mailbox_bookmark_refused', { reason: String(error) });
    return null;
  }
}

export type RestoreError = { readonly kind: 'store_older' | 'no_mailbox' | 'bookmark_refused' };

/**
 * Puts a mailbox back. It refuses every call from the first step to the end of `replayMailbox`. If interrupted, repeat it, or replay.
 * @returns the number that the mailbox will have after the replay.
 */
export async function restoreMailbox(
  guarded: Env,
  userId: string,
  bookmark: string,
): Promise<Result<number, RestoreError>> {
  const env = unguardedEnv(guarded);
  const mailbox = openMailbox(env, userId);
  const age = await mailbox.readAge();
  const { numbers } = await readObjectNumbers(env, 'mailboxes');
  // The state to hold would be that of a mailbox that was put back.
  if ((numbers[userId] ?? 0) > age.number && !age.isLeaving) return err({ kind: 'store_older' });
  const number = age.number + 1;
  const held = await mailbox.beginRestore(number);
  if (!held.ok) return err({ kind: 'no_mailbox' });
  await putBlob(env, toHeldKey(userId, number), held.value);
  await changeNumbers(env, userId, number);
  await new Promise((resolve) => setTimeout(resolve, KNOWN_EVERYWHERE_MS));
  try {
    await openMailbox(env, userId).putBack(bookmark);
  } catch (error) {
    if (!String(error).includes(PUT_BACK)) {
      logInfo('mailbox_restore_refused', { reason: String(error) });
      return err({ kind: 'bookmark_refused' });
    }
  }
  logInfo('mailbox_put_back', { number });
  return ok(number);
}

export interface MailboxReplay {
  /** Messages that arrived since and are there again. */
  readonly messages_recovered: number;
  /** Messages of the earlier state that had been erased since. */
  readonly messages_erased: number;
  readonly isDone: boolean;
}

/** Replays what must hold into a mailbox that was put back, and lets it serve. Repeat it until it is done. */
export async function replayMailbox(guarded: Env, userId: string, mayContinue: () => boolean): Promise<MailboxReplay> {
  const env = unguardedEnv(guarded);
  const mailbox = openMailbox(env, userId);
  const age = await mailbox.readAge();
  const number = (await readObjectNumbers(env, 'mailboxes')).numbers[userId] ?? 0;
  const none = { messages_recovered: 0, messages_erased: 0, isDone: true };
  if (number <= age.number) {
    // A restore that ended before it put anything back, or a replay that ended before it removed the number.
    if (age.isLeaving) await mailbox.endRestore(age.number);
    if (number > 0) await changeNumbers(env, userId, null);
    return none;
  }
  const held = await (await getBlob(env, toHeldKey(userId, number)))?.text();
  if (held === undefined) throw new Error(`no location has what the mailbox must hold (${number})`);
  const erased = await mailbox.putHeldState(held);
  const { deliveries } = JSON.parse(held) as { readonly deliveries: Readonly<Record<string, string>> };
  const { recovered, isDone } = await recoverSince(env, userId, deliveries, mayContinue);
  const report = { messages_recovered: recovered, messages_erased: erased, isDone };
  if (!isDone) return report;
  await mailbox.endRestore(number);
  await changeNumbers(env, userId, null);
  logInfo('mailbox_replayed', { messages_recovered: recovered, messages_erased: erased });
  return report;
}

const listOlder = async (guarded: Env): Promise<string[]> =>
  Object.keys((await readObjectNumbers(unguardedEnv(guarded), 'mailboxes')).numbers);

/** Maximum of mailboxes that health names. */
const NAMED_MAX = 5;

/** Finds mailboxes that were put back and have not been replayed. For health. */
export async function findOlderMailboxes(env: Env): Promise<{ name: string; message: string }[]> {
  const older = await listOlder(env).catch(() => []);
  return older.slice(0, NAMED_MAX).map((id) => new OlderStoreError(`MAILBOX ${id}`).problem);
}

/** The gauge of mailboxes that were put back. */
export async function readOlderMailboxGauge(env: Env) {
  const help = 'Mailboxes that were put back to an earlier state and have not been replayed.';
  const samples = [{ labels: {}, value: (await listOlder(env)).length }];
  return { name: 'tessera_mailboxes_older', type: 'gauge' as const, help, samples };
}
