/**
 * Work that mailbox objects hand to the Worker (`durable-objects/mail/contract/jobs.ts`). Each call is an invocation of its own,
 * with its own CPU time and subrequests. So SMTP, scanners and training do not load the object. Their code is evaluated when it is
 * needed.
 */

import { WorkerEntrypoint } from 'cloudflare:workers';
import type { IncomingLedger } from '../../durable-objects/mail/contract/incoming.ts';
import type { MailboxJobs as Jobs, SpamLesson } from '../../durable-objects/mail/contract/jobs.ts';
import type { AutomaticSend, OutboxSnapshot } from '../../durable-objects/mail/contract/outbox.ts';

import { createClock } from '../shared/settings/clock.ts';
import { userDatabaseOf } from '../shared/stores/directories.ts';
import { guardedEnv } from '../shared/stores/guarded-database.ts';
import { callInTrace, currentInvocation, runInvocation } from '../shared/telemetry/invocation.ts';
import { deleteBlobs, getBlob, putBlob } from './bindings/blobs.ts';
import { publishLedger, publishOutbox } from './store/queue-store.ts';

/**
 * Bytes of a message that are read for training. They contain all the text that the classifier reads, because it ignores
 * attachments.
 */
const LESSON_BYTES_MAX = 1024 * 1024;

export class MailboxJobs extends WorkerEntrypoint<Env> implements Jobs {
  constructor(ctx: ExecutionContext, env: Env) {
    super(ctx, guardedEnv(env));
  }

  async inTrace(traceId: string, method: string, args: unknown[]): Promise<unknown> {
    return callInTrace(this, this.env, traceId, method, args);
  }

  /** @param traceId trace of the request that accepted the mail. Default: the trace of the alarm. */
  async processIncoming(userId: string, traceId = currentInvocation()?.traceId): Promise<void> {
    const { processIncoming } = await import('./inbound/process/process-incoming.ts');
    await runInvocation(this.env, traceId, () => processIncoming(this.env, userId));
  }

  async sendOutbox(userId: string): Promise<void> {
    await (await import('./outbound/send-due.ts')).sendDue(this.env, [userId]);
  }

  async sendReports(userId: string): Promise<void> {
    await (await import('./outbound/send-reports.ts')).sendReports(this.env, userId);
  }

  async pullMail(userId: string): Promise<void> {
    await (await import('./inbound/pull/pull-mail.ts')).pullMail(this.env, userId);
  }

  async sendAutomatic(userId: string, send: AutomaticSend): Promise<void> {
    await (await import('./outbound/automatic-mail.ts')).sendAutomatic(this.env, userId, send);
  }

  async publishLedger(userId: string, ledger: IncomingLedger): Promise<void> {
    await publishLedger(userDatabaseOf(this.env, userId), userId, ledger);
  }

  async publishOutbox(userId: string, snapshots: readonly OutboxSnapshot[]): Promise<void> {
    if (snapshots.length > 0) await publishOutbox(userDatabaseOf(this.env, userId), snapshots, createClock(this.env)());
  }

  async deleteBlobs(keys: readonly string[]): Promise<void> {
    await deleteBlobs(this.env, keys);
  }

  async saveSnapshot(r2Key: string, body: string): Promise<void> {
    await putBlob(this.env, r2Key, body);
  }

  async sendPushes(userId: string): Promise<void> {
    await (await import('./push/send-push.ts')).sendPushes(this.env, userId);
  }

  async trainSpamModel(model: Uint8Array | null, lessons: readonly SpamLesson[]): Promise<Uint8Array | null> {
    const { readTokens, trainUserModel } = await import('./checks/index.ts');
    let trained = model;
    for (const { rawKey, label } of lessons) {
      const raw = rawKey === null ? null : await getBlob(this.env, rawKey, { offset: 0, length: LESSON_BYTES_MAX });
      if (raw) trained = trainUserModel(trained, readTokens(new Uint8Array(await raw.arrayBuffer())), label);
    }
    return trained;
  }
}
