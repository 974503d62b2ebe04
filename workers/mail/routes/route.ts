/** Common parts of mail's routes: checks of the caller, and calls of the caller's mailbox. */

import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { CallerProof, OwnRead } from '../../../durable-objects/mail/contract/credentials.ts';

import {
  authorizeFirst,
  authorizeWithRead,
  type Principal,
  requireMailUser,
  requireOperator,
  requireScope,
  type UserPrincipal,
} from '../../identity/index.ts';
import type { JsonApiEnv } from '../../shared/json/json-api.ts';
import type { Problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { isMissingCall } from '../../shared/stores/object-namespace.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { reachMailbox } from '../accounts/credentials.ts';
import { isUnreachable, type MailboxRpc, openMailbox } from '../bindings/mailbox.ts';
import { MAILBOX_UNAVAILABLE, type MailError, toMailProblem } from '../schemas/errors.ts';

/** Requires a token with the scope `inbound`, or the root token. */
export const requireGateway = (c: Context<JsonApiEnv>): Promise<Result<Principal, Problem>> =>
  requireScope(c, 'inbound', { rootToo: true });

const TAGS = { tags: ['mail'] };
/** Declaration of a route for users with a mailbox: a session (also by cookie) or a token. */
export const USER_ROUTE = {
  ...TAGS,
  security: [{ bearer: [] }, { session: [] }],
  middleware: authorizeFirst(requireMailUser),
};
/** Declaration of a route like `USER_ROUTE`, whose handler finds the caller with `readOwnMailbox` and reads no body. */
export const READ_ROUTE = { ...USER_ROUTE, middleware: authorizeWithRead(requireMailUser) };
/** Declaration of a route for operators: the root token, or a token with the scope `admin`. */
export const OPERATOR_ROUTE = { ...TAGS, security: [{ bearer: [] }], middleware: authorizeFirst(requireOperator) };
/** Declaration of a route for SMTP gateways: a token with the scope `inbound`. */
export const GATEWAY_ROUTE = { ...TAGS, security: [{ bearer: [] }], middleware: authorizeFirst(requireGateway) };
/** Declaration of a route that needs no authentication. */
export const OPEN_ROUTE = { ...TAGS, security: [] };

export const toTime = (epochMs: number): string => new Date(epochMs).toISOString();
export const messageParamSchema = z.object({ message_id: z.string().max(100) });
export const folderParamSchema = z.object({ folder_id: z.string().max(100) });

/** Calls a mailbox. Converts its expected errors to problems. An unreachable mailbox object is 503. */
export async function callMailbox<T>(
  env: Env,
  userId: string,
  ask: (mailbox: MailboxRpc) => Promise<Result<T, MailError>>,
): Promise<Result<T, Problem>> {
  try {
    const answer = await ask(openMailbox(env, userId));
    return answer.ok ? ok(answer.value) : err(toMailProblem(answer.error));
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    logError('mailbox_call_failed', error);
    return err(MAILBOX_UNAVAILABLE);
  }
}

export type AskMailbox = <T>(
  question: (mailbox: MailboxRpc) => Promise<Result<T, MailError>>,
) => Promise<Result<T, Problem>>;

/** @returns the caller, with a function that calls the caller's mailbox; or a problem. */
export async function openOwnMailbox(c: Context<JsonApiEnv>): Promise<
  Result<
    {
      user: UserPrincipal;
      ask: AskMailbox;
    },
    Problem
  >
> {
  const caller = await requireMailUser(c);
  if (!caller.ok) return caller;
  return ok({ user: caller.value, ask: (question) => callMailbox(c.env, caller.value.userId, question) });
}

/** Checks the caller and reads the caller's mailbox, both in one call. Only for routes declared with `READ_ROUTE`. */
export async function readOwnMailbox<T>(
  c: Context<JsonApiEnv>,
  read: ReadWith<T>,
): Promise<Result<{ readonly user: UserPrincipal; readonly value: T }, Problem>> {
  const found = await readAsCaller(c, requireMailUser, read);
  if (!found.ok) return found;
  const { user, answer } = found.value;
  return answer.ok ? ok({ user, value: answer.value }) : answer;
}

/** Makes one read of a mailbox. `proof` says whether the mailbox or the Worker checks the caller. */
type ReadWith<T> = (mailbox: MailboxRpc, proof: CallerProof) => Promise<OwnRead<Result<T, MailError>>>;

/**
 * Reads of 0.2.0 that newer reads replace. The platform lets a mailbox run the code of the release before for some minutes after a
 * deployment. An entry can go one release after its newer read.
 */
const OLDER_READS: Readonly<Record<string, string>> = {
  countOwnLabels: 'countLabels',
  readOwnDraft: 'readDraft',
  listOwnFilters: 'listFilters',
  listOwnContacts: 'listContacts',
};

/** Reads a mailbox; if it lacks the call, checks the caller and reads in two calls, as 0.2.0 did. */
async function readOrFallBack<T>(
  mailbox: MailboxRpc,
  proof: CallerProof,
  read: ReadWith<T>,
): Promise<OwnRead<Result<T, MailError>>> {
  try {
    return await read(mailbox, proof);
  } catch (error) {
    if (!isMissingCall(error)) throw error;
    const caller = proof === 'checked_by_worker' ? null : await mailbox.identify(proof.secretSha256);
    if (caller === null && proof !== 'checked_by_worker') return null;
    const found = await read(toOlderReads(mailbox), 'checked_by_worker');
    return found && ({ ...found, caller } as OwnRead<Result<T, MailError>>);
  }
}

/** A mailbox whose newer reads are made with the older ones. */
const toOlderReads = (mailbox: MailboxRpc): MailboxRpc =>
  new Proxy(mailbox, {
    get(target, name) {
      const older = OLDER_READS[String(name)];
      if (older === undefined) return Reflect.get(target, name);
      const call = Reflect.get(target, older) as (...args: unknown[]) => Promise<unknown>;
      return async (_: CallerProof, ...args: unknown[]) => ({
        caller: null,
        answer: await Reflect.apply(call, target, args),
      });
    },
  });

/**
 * Does the same as `readOwnMailbox`, with a given guard. The route's middleware must be `authorizeWithRead` with the same guard.
 */
export async function readAsCaller<T>(
  c: Context<JsonApiEnv>,
  guard: typeof requireMailUser,
  read: ReadWith<T>,
): Promise<Result<{ readonly user: UserPrincipal; readonly answer: Result<T, Problem> }, Problem>> {
  const done: { answer?: Result<T, MailError> } = {};
  const readWith = async (userId: string, proof: CallerProof) => {
    const found = await reachMailbox(c.env, userId, (mailbox) => readOrFallBack(mailbox, proof, read));
    if (found) done.answer = found.answer;
    return found?.caller ?? null;
  };
  const caller = await guard(c, (userId, secretSha256) => readWith(userId, { secretSha256 }));
  if (!caller.ok) return caller;
  const user = caller.value;
  // The first read did not happen: the mailbox does not store this credential, or the credential was checked before.
  if (!done.answer) await readWith(user.userId, 'checked_by_worker');
  if (!done.answer) throw new Error('the mailbox checked the caller and returned no answer');
  return ok({ user, answer: done.answer.ok ? done.answer : err(toMailProblem(done.answer.error)) });
}
