/**
 * The audit log: actor, action, target, time and network of each security action. Every product records its operator and security
 * actions here. `GET /v1/audit` shows them.
 *
 *     await recordAudit(c, 'season.close', { type: 'season', id: season });
 *
 * If the action is one batch in DIRECTORY, its store adds `insertIfChanged(db, toAuditRow(c, …))` to that batch instead, so that
 * neither exists without the other. Other actions are recorded after they succeeded and before the answer.
 *
 * Entries hold ids, never message text, names or addresses of people. Entries are kept for 400 days.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import ipaddr from 'ipaddr.js';
import { v7 as mintTimeOrderedId } from 'uuid';
import type { JsonApiEnv } from '../json/json-api.ts';
import type { AuditActor } from '../pure/audit-actor.ts';
import { parseIp } from '../pure/ip-address.ts';
import { createClock } from '../settings/clock.ts';
import { boundDirectories } from '../stores/bindings.ts';
import { userDatabaseOf } from '../stores/directories.ts';
import { type AuditRow, createAuditStore } from './audit-store.ts';

/** Actions of the audit log. Their names have the form `<kind of target>.<verb>`. */
export const AUDIT_ACTIONS = [
  'access_key.create',
  'access_key.delete',
  'access_key.rotate',
  'account.delete',
  'account.rebuild',
  'account.release_sending',
  'account.replay',
  'account.restore',
  'account.resume',
  'account.suspend',
  'account.update',
  'address.create',
  'address.delete',
  'address_forward.delete',
  'address_forward.update',
  'agent.call',
  'agent_message.approve',
  'agent_message.decline',
  'agent_recipients.set',
  'audit.prune',
  'board.delete',
  'board.put',
  'board.reset',
  'board_logo.delete',
  'board_logo.set',
  'board_result.accept',
  'board_result.refuse',
  'board_webhook.delete',
  'board_webhook.rotate',
  'board_webhook.set',
  'bucket.lifecycle',
  'bucket.restore',
  'bucket.take_down',
  'bucket_policy.delete',
  'collector.acknowledge',
  'directory.rebuild',
  'directory.replay',
  'dkim_keys.create',
  'domain.create',
  'domain.delete',
  'domain.update',
  'forward_filter.set',
  'forward_target.confirm',
  'forward_target.create',
  'forward_target.delete',
  'invite.create',
  'locations.check',
  'locations.refill',
  'locations.rescue',
  'login.failed',
  'login.new_place',
  'login.second_factor_failed',
  'mail.trace',
  'mailbox.export',
  'object.restore',
  'object.take_down',
  'operator.create',
  'operator.delete',
  'operator.login',
  'operator.update',
  'outbound.retry',
  'passkey.create',
  'passkey.delete',
  'password.change',
  'password.delete',
  'password.reset',
  'password_reset.create',
  'password_rule.set',
  'player.correct',
  'player.erase',
  'player.unban',
  'policy.delete',
  'policy.set',
  'pull.end',
  'pull.start',
  'quarantine.delete',
  'quarantine.read',
  'quarantine.release',
  'quota.delete',
  'quota.set',
  'recovery_address.confirm',
  'recovery_address.delete',
  'recovery_codes.replace',
  'season.accept_loss',
  'season.close',
  'season.export',
  'season.restore_shard',
  'secrets.reseal',
  'shard.rebuild',
  'shard.replay',
  'share_link.create',
  'share_link.delete',
  'sign_in.bind',
  'sign_in.log_out',
  'sign_in.pause',
  'sign_in.resume',
  'sign_in.unbind',
  'slot.move',
  'storage.doubt',
  'storage.fsck',
  'storage.gc',
  'storage.scrub',
  'storage.snapshot',
  'storage_job.cancel',
  'storage_job.end',
  'storage_job.start',
  'suppression.lift',
  'temporary_key.create',
  'temporary_key.end',
  'token.create',
  'token.delete',
  'totp.disable',
  'totp.enable',
  'user.create',
  'user.delete',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export const TARGET_TYPES = [
  'access_key',
  'audit',
  'board',
  'bucket',
  'collector',
  'domain',
  'invite',
  'message',
  'operator',
  'player',
  'season',
  'service',
  'share_link',
  'suppression',
  'token',
  'user',
] as const;
export interface AuditTarget {
  readonly type: (typeof TARGET_TYPES)[number];
  readonly id: string;
}

/** Details of an audit entry: ids, counts and flags. Texts are cut to 1,000 characters. Members that are undefined are omitted. */
export type AuditDetails = Readonly<Record<string, string | number | boolean | undefined>>;

/** Target of actions that concern the whole service. */
export const SERVICE: AuditTarget = { type: 'service', id: 'service' };

/** The actor of what the service does itself, and of what strangers try. */
export const SYSTEM: AuditActor = { kind: 'system', id: 'system' };
const DETAIL_LENGTH_MAX = 1_000;
const RETENTION_MS = 400 * 24 * 3_600_000;
/** Maximum number of delete statements per day and database. Each deletes 1,000 rows. */
const DELETES_PER_RUN_MAX = 50;

/**
 * Makes the audit entry of an action of the request's caller.
 * @param actor only for routes without a guard; guards set the actor.
 */
export function toAuditRow(
  c: Context<JsonApiEnv>,
  action: AuditAction,
  target: AuditTarget,
  details: AuditDetails = {},
  actor: AuditActor | undefined = c.get('actor'),
): AuditRow {
  if (actor === undefined) throw new Error(`${action} has no actor: the route has no guard`);
  return {
    ...toRow(c.env, actor, action, target, details),
    network: readNetwork(c.req.raw.headers),
    userAgentDigest: digestUserAgent(c.req.header('user-agent')),
    requestId: c.get('requestId'),
  };
}

/** Records an action of the request's caller. It must be called before the answer. */
export async function recordAudit(...entry: Parameters<typeof toAuditRow>): Promise<void> {
  const row = toAuditRow(...entry);
  await createAuditStore(userDatabaseOf(entry[0].env, userOf(row))).insert(row);
}

const HOUR_MS = 3_600_000;

/**
 * Records the first action of its kind in an hour, for actions that may come often.
 * @param details each value of them is a kind of its own, such as the name of a tool.
 */
export async function recordHourlyAudit(
  c: Context<JsonApiEnv>,
  action: AuditAction,
  target: AuditTarget,
  details: AuditDetails,
): Promise<void> {
  const row = toAuditRow(c, action, target, details);
  const at = row.at - (row.at % HOUR_MS);
  const entryId = createHash('sha256')
    .update(JSON.stringify([at, row.actorId, action, details]))
    .digest('hex')
    .slice(0, 32);
  await createAuditStore(userDatabaseOf(c.env, userOf(row))).insertOnce({ ...row, at, entryId });
}

/** The user whose database has an entry: the actor, else the target; '' for an entry without a user. */
const userOf = ({ actorKind, actorId, targetType, targetId }: AuditRow): string =>
  actorKind === 'user' ? actorId : targetType === 'user' ? targetId : '';

/**
 * Records work of the service itself, which may be repeated after a crash.
 * @param id id of the entry. Of several calls with the same `at` and `id`, only the first adds an entry.
 */
export async function recordSystemAudit(
  directory: D1Database,
  { at, id, action, target, details }: SystemEntry,
): Promise<void> {
  await createAuditStore(directory).insertOnce(toSystemAuditRow({ at, id, action, target, details }));
}

/** Makes the audit entry of the service's own work, for the batch in DIRECTORY that does the work. */
export const toSystemAuditRow = ({ at, id, action, target, details }: SystemEntry): AuditRow => ({
  ...toEntry(SYSTEM, action, target, details),
  at,
  entryId: id,
});

interface SystemEntry {
  readonly at: number;
  readonly id: string;
  readonly action: AuditAction;
  readonly target: AuditTarget;
  readonly details: AuditDetails;
}

/** Deletes entries that are older than 400 days by the time in the entry itself. Runs daily. */
export async function pruneAudit(env: Env, now: number): Promise<void> {
  let entries = 0;
  for (const database of boundDirectories(env)) {
    for (let run = 0; run < DELETES_PER_RUN_MAX; run++) {
      const deleted = await createAuditStore(database).prune(now - RETENTION_MS);
      if (deleted === 0) break;
      entries += deleted;
    }
  }
  if (entries > 0) {
    await createAuditStore(env.DIRECTORY).insert(
      toRow(env, SYSTEM, 'audit.prune', { type: 'audit', id: 'audit' }, { entries }),
    );
  }
}

/** Creates the pseudonym that replaces the id of an erased person. It is random, so it cannot be computed from the id. */
export const mintPseudonym = (): string => `erased-${randomUUID()}`;

const toRow = (env: Env, ...entry: Parameters<typeof toEntry>): AuditRow => ({
  at: createClock(env)(),
  // Ids ascend in time, so that entries of the same millisecond are in order.
  entryId: mintTimeOrderedId(),
  ...toEntry(...entry),
});

function toEntry(
  actor: AuditActor,
  action: AuditAction,
  target: AuditTarget,
  details: AuditDetails,
): Omit<AuditRow, 'at' | 'entryId'> {
  const kept = Object.entries(details).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, typeof value === 'string' ? value.slice(0, DETAIL_LENGTH_MAX) : value] as const],
  );
  return {
    actorKind: actor.kind,
    actorId: actor.id,
    action,
    targetType: target.type,
    targetId: target.id,
    network: null,
    userAgentDigest: null,
    requestId: null,
    details: Object.fromEntries(kept),
  };
}

/**
 * The network of a request's client, without the host, such as `192.0.2.0/24` or `2001:db8:1::/48`.
 * @returns null without an address.
 */
export function readNetwork(headers: Headers): string | null {
  const ip = parseIp(headers.get('cf-connecting-ip') ?? '');
  if (ip === null) return null;
  if (!(ip instanceof ipaddr.IPv6)) return `${ip.octets.slice(0, 3).join('.')}.0/24`;
  const groups = ip.parts.slice(0, 3).map((part) => part.toString(16));
  return `${groups.join(':')}::/48`;
}

const digestUserAgent = (userAgent: string | undefined): string | null =>
  userAgent === undefined ? null : createHash('sha256').update(userAgent).digest('hex').slice(0, 16);
