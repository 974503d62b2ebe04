/** What mail's routes have in common: who calls, and asking the caller's mailbox. */
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import {
  authorizeFirst,
  type Principal,
  requireMailUser,
  requireOperator,
  requireScope,
  type UserPrincipal,
} from '../../identity/index.ts';
import type { JsonApiEnv } from '../../shared/json-api.ts';
import { logError } from '../../shared/log.ts';
import type { Problem } from '../../shared/problem.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import { MAILBOX_UNAVAILABLE, type MailError, toMailProblem } from '../errors.ts';
import { type MailboxRpc, openMailbox } from '../mailbox.ts';

/** A token with the scope `inbound`, or root. */
export const requireGateway = (c: Context<JsonApiEnv>): Promise<Result<Principal, Problem>> =>
  requireScope(c, 'inbound', { rootToo: true });

const TAGS = { tags: ['mail'] };
/** What a route declares, by who may call it: somebody with a mailbox (a session, by cookie too, or a token), … */
export const USER_ROUTE = {
  ...TAGS,
  security: [{ bearer: [] }, { session: [] }],
  middleware: authorizeFirst(requireMailUser),
};
/** … root or an `admin` token, … */
export const OPERATOR_ROUTE = { ...TAGS, security: [{ bearer: [] }], middleware: authorizeFirst(requireOperator) };
/** … an SMTP gateway, … */
export const GATEWAY_ROUTE = { ...TAGS, security: [{ bearer: [] }], middleware: authorizeFirst(requireGateway) };
/** … or anybody. */
export const OPEN_ROUTE = { ...TAGS, security: [] };

export const toTime = (epochMs: number): string => new Date(epochMs).toISOString();
export const messageParamSchema = z.object({ message_id: z.string().max(100) });
export const folderParamSchema = z.object({ folder_id: z.string().max(100) });

/** Calls a mailbox: its expected errors become problems, and an object that cannot be reached is 503. */
export async function askMailbox<T>(
  env: Env,
  userId: string,
  ask: (mailbox: MailboxRpc) => Promise<Result<T, MailError>>,
): Promise<Result<T, Problem>> {
  try {
    const answer = await ask(openMailbox(env, userId));
    return answer.ok ? ok(answer.value) : err(toMailProblem(answer.error));
  } catch (error) {
    // What the object itself threw carries `remote`; anything else is the way to it.
    const { remote, retryable, overloaded } = error as { remote?: boolean; retryable?: boolean; overloaded?: boolean };
    if (remote && !retryable && !overloaded) throw error;
    logError('mailbox_unreachable', error);
    return err(MAILBOX_UNAVAILABLE);
  }
}

/** The caller, and a way to ask their mailbox; or why not. */
export async function openOwnMailbox(c: Context<JsonApiEnv>): Promise<
  Result<
    {
      user: UserPrincipal;
      ask: <T>(question: (mailbox: MailboxRpc) => Promise<Result<T, MailError>>) => Promise<Result<T, Problem>>;
    },
    Problem
  >
> {
  const caller = await requireMailUser(c);
  if (!caller.ok) return caller;
  return ok({ user: caller.value, ask: (question) => askMailbox(c.env, caller.value.userId, question) });
}
