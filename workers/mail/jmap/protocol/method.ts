/** Types of JMAP methods, their calls and their answers. */

import type { z } from '@hono/zod-openapi';
import type { JmapFolder } from '../../../../durable-objects/mail/contract/jmap.ts';

import type { UserPrincipal } from '../../../identity/index.ts';
import type { Problem } from '../../../shared/json/problem.ts';
import type { RequestBudget } from '../../../shared/pure/request-budget.ts';
import type { Result } from '../../../shared/pure/result.ts';
import type { MailboxRpc } from '../../bindings/mailbox.ts';
import type { MailError } from '../../schemas/errors.ts';

export const CAPABILITIES = {
  core: 'urn:ietf:params:jmap:core',
  mail: 'urn:ietf:params:jmap:mail',
  submission: 'urn:ietf:params:jmap:submission',
  vacation: 'urn:ietf:params:jmap:vacationresponse',
  blob: 'urn:ietf:params:jmap:blob',
  quota: 'urn:ietf:params:jmap:quota',
  vapid: 'urn:ietf:params:jmap:webpush-vapid',
  masked: 'https://www.fastmail.com/dev/maskedemail',
} as const;
export type Capability = keyof typeof CAPABILITIES;

/** Errors of a whole method call (RFC 8620 §3.6.2 and the methods of §5, RFC 8621). */
export type MethodErrorType =
  | 'serverUnavailable'
  | 'serverFail'
  | 'serverPartialFail'
  | 'unknownMethod'
  | 'invalidArguments'
  | 'invalidResultReference'
  | 'forbidden'
  | 'accountNotFound'
  | 'fromAccountNotFound'
  | 'requestTooLarge'
  | 'stateMismatch'
  | 'cannotCalculateChanges'
  | 'tooManyChanges'
  | 'anchorNotFound'
  | 'unsupportedSort'
  | 'unsupportedFilter';

export interface MethodError {
  readonly type: MethodErrorType;
  readonly description?: string;
}

/** Error that says why one object was not created, updated or destroyed (RFC 8620 §5.3). */
export interface SetError {
  readonly type: string;
  readonly description?: string;
  readonly properties?: readonly string[];
  readonly existingId?: string;
  readonly notFound?: readonly string[];
  readonly [more: string]: unknown;
}

export type Arguments = Readonly<Record<string, unknown>>;
export type Invocation = readonly [name: string, args: Arguments, callId: string];

/** The mailbox's answer when its folders were read. */
export type FoldersRead = Result<{ readonly state: string; readonly folders: JmapFolder[] }, Problem>;

/** A call of a method, with its context. */
export interface Call {
  readonly env: Env;
  readonly user: UserPrincipal;
  /** Id of the user's only account, the user's own mailbox. It is the user id. */
  readonly accountId: string;
  readonly now: number;
  /**
   * Budget for the parts of the answer. A method with a large answer spends it while it collects the parts, so that it stops early.
   * The whole answer is counted again, against the budget of the request.
   */
  readonly parts: RequestBudget;
  /** Ids of the objects that this request created, by creation id. */
  readonly created: Map<string, string>;
  /** The folders, if they were read together with the credential and this call needs them; otherwise null. */
  readonly folders: FoldersRead | null;
  /** Calls the caller's mailbox. Converts its errors to problems. */
  readonly ask: <T>(question: (mailbox: MailboxRpc) => Promise<Result<T, MailError>>) => Promise<Result<T, Problem>>;
  /** Runs another method. Its answer is added under the id of this call (RFC 8621 §7.5). */
  readonly alsoRun: (name: string, args: Arguments) => Promise<void>;
}

export type Answer = Result<Arguments, MethodError>;

export interface Method<Schema extends z.ZodType = z.ZodType> {
  readonly capability: Capability;
  readonly schema: Schema;
  readonly run: (call: Call, args: z.output<Schema>) => Promise<Answer> | Answer;
}

/** Declares a method. The type of the arguments of `run` is inferred from the schema. */
export const method = <Schema extends z.ZodType>(definition: Method<Schema>): Method => definition as unknown as Method;

export const invalidArguments = (description: string): MethodError => ({ type: 'invalidArguments', description });

/** Converts a problem to a method error. An unreachable mailbox becomes `serverUnavailable`, after which clients retry. */
export const toMethodError = (problem: Problem): MethodError => ({
  type: problem.status === 503 || problem.status === 429 ? 'serverUnavailable' : 'serverFail',
  ...(problem.detail === undefined ? {} : { description: problem.detail }),
});
