/**
 * Follow-up work of the outbox: reports to senders, and updates of the operator's tables. The transaction that makes such work due
 * also marks it in the row. The mark is removed when the work is done, so a crash in between only repeats it.
 */

import type { MailboxRow } from '../contract/mailbox.ts';
import type { DueReport, OutboxDestination, OutboxSnapshot } from '../contract/outbox.ts';
import {
  listPublishable,
  listReporting,
  nextOf,
  type OutboxMessage,
  type OutboxRecipient,
  readOutbox,
  saveOutbox,
} from './outbox-store.ts';

/**
 * Assigns ids to due reports before they are written. A recipient that fails later gets another id and report. So a repetition
 * after a crash makes the same report about the same recipients.
 */
function beginReports(sql: SqlStorage, message: OutboxMessage, now: number): OutboxMessage {
  if (!message.recipients.some(({ report }) => report?.id === null)) return message;
  const ids = { failed: crypto.randomUUID(), delayed: crypto.randomUUID() };
  const recipients = message.recipients.map((each) =>
    each.report?.id === null ? { ...each, report: { due: each.report.due, id: ids[each.report.due] } } : each,
  );
  saveOutbox(sql, { ...message, recipients }, now);
  return { ...message, recipients };
}

/** Query of when a report is due: at once, if there is one. */
export const REPORT_DUE_AT = `SELECT 0 FROM outbox, json_each(recipients) WHERE json_extract(value, '$.report') IS NOT NULL LIMIT 1`;

export function listDueReports(sql: SqlStorage, mailbox: MailboxRow, limit: number, now: number): DueReport[] {
  const reports = listReporting(sql).flatMap((message) => toReports(beginReports(sql, message, now), mailbox.userId));
  return reports.slice(0, limit);
}

function toReports(message: OutboxMessage, userId: string): DueReport[] {
  const groups = new Map<string, OutboxRecipient[]>();
  for (const each of message.recipients)
    if (each.report?.id) groups.set(each.report.id, [...(groups.get(each.report.id) ?? []), each]);
  return [...groups].map(([reportId, recipients]) => ({
    reportId,
    userId,
    outboxId: message.outboxId,
    action: recipients[0]?.report?.due ?? 'failed',
    envelopeFrom: message.envelopeFrom,
    headerMessageId: message.headerMessageId,
    rawKey: message.rawKey,
    queuedAt: message.queuedAt,
    attemptedAt: Math.max(...recipients.map(({ lastAttemptAt }) => lastAttemptAt ?? 0)),
    recipients: recipients.map(({ email, lastCode, lastReply, isUncertain, isExpired }) => ({
      ...{ email, code: lastCode, reply: lastReply ?? '', isUncertain, isExpired },
    })),
  }));
}

/** Ends a report that was delivered or is not needed. Recipients that failed since it began stay due for another report. */
export function finishReport(sql: SqlStorage, { outboxId, reportId, action }: DueReport, now: number): void {
  const message = readOutbox(sql, outboxId);
  if (!message?.recipients.some(({ report }) => report?.id === reportId)) return;
  const recipients = message.recipients.map((each) =>
    each.report?.id === reportId ? { ...each, report: null } : each,
  );
  saveOutbox(sql, { ...message, recipients, warnedAt: action === 'delayed' ? now : message.warnedAt }, now);
}

export const NEXT_PUBLISH_AT = 'SELECT min(publish_at) FROM outbox';

export const listUnpublished = (sql: SqlStorage, mailbox: MailboxRow, limit: number, now: number): OutboxSnapshot[] =>
  listPublishable(sql, now, limit).map(({ outboxId, version, kind, sizeBytes, queuedAt, recipients }) => ({
    ...{ outboxId, userId: mailbox.userId, version, kind, sizeBytes, queuedAt },
    destinations: [...new Set(recipients.map(({ domain }) => domain))].map((domain) =>
      toDestination(
        domain,
        recipients.filter((each) => each.domain === domain),
      ),
    ),
  }));

function toDestination(domain: string, recipients: readonly OutboxRecipient[]): OutboxDestination {
  const count = (state: OutboxRecipient['state']) => recipients.filter((each) => each.state === state).length;
  // A recipient with a lease is being attempted, so it is not due before the lease ends.
  const waiting = recipients.flatMap((each) => nextOf(each) ?? []);
  const replies = recipients
    .filter(({ state }) => state === 'queued' || state === 'deferred' || state === 'failed')
    .flatMap(({ lastReply }) => lastReply ?? []);
  return {
    domain,
    held: count('held'),
    queued: count('queued'),
    deferred: count('deferred'),
    failed: count('failed'),
    nextAttemptAt: waiting.length === 0 ? null : Math.min(...waiting),
    lastReply: replies.sort().at(-1) ?? null,
  };
}

/**
 * Records which versions of outbox rows the operator's tables have. Then deletes the rows of users' messages among them that have
 * no waiting recipient, no failure and no due report.
 */
export function markPublished(sql: SqlStorage, seen: readonly { outboxId: string; version: number }[]): void {
  for (const { outboxId, version } of seen) {
    sql.exec(
      `UPDATE outbox SET published_version = ?2, publish_at = CASE version WHEN ?2 THEN NULL ELSE publish_at END
       WHERE outbox_id = ?1`,
      outboxId,
      version,
    );
    sql.exec(
      `DELETE FROM outbox WHERE outbox_id = ? AND kind = 'message' AND publish_at IS NULL AND next_attempt_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM json_each(recipients)
           WHERE json_extract(value, '$.state') = 'failed' OR json_extract(value, '$.report') IS NOT NULL)`,
      outboxId,
    );
  }
}
