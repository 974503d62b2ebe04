/** Types of methods, their calls and their answers. */
import type { z } from '@hono/zod-openapi';
import type { JmapFolder } from '../../../../durable-objects/mailbox/jmap/folder-read-store.ts';
import type { UserPrincipal } from '../../../identity/index.ts';
import type { Problem } from '../../../shared/problem.ts';
import type { Result } from '../../../shared/result.ts';
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
} as const;
export type Capability = keyof typeof CAPABILITIES;

/** Method-level errors (RFC 8620 §3.6.2 and the methods of §5, RFC 8621). */
export type MethodErrorType =
  | 'serverUnavailable'
  | 'serverFail'
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

/** Why one object was not created, updated or destroyed (RFC 8620 §5.3). */
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

/** Answer of the mailbox to a read of its folders. */
export type FoldersRead = Result<{ readonly state: string; readonly folders: JmapFolder[] }, Problem>;

/** One call of a method. */
export interface Call {
  readonly env: Env;
  readonly user: UserPrincipal;
  /** The id of the only account of a user: the user's own mailbox. */
  readonly accountId: string;
  readonly now: number;
  /** Ids of objects that this request created, by creation id. */
  readonly created: Map<string, string>;
  /** The folders, if they were read together with the credential and this is the call that needs them. Null otherwise. */
  readonly folders: FoldersRead | null;
  /** Calls the caller's mailbox. */
  readonly ask: <T>(question: (mailbox: MailboxRpc) => Promise<Result<T, MailError>>) => Promise<Result<T, Problem>>;
  /** Adds a further answer under the id of this call (RFC 8621 §7.5). */
  readonly alsoRun: (name: string, args: Arguments) => Promise<void>;
}

export type Answer = Result<Arguments, MethodError>;

export interface Method<Schema extends z.ZodType = z.ZodType> {
  readonly capability: Capability;
  readonly schema: Schema;
  readonly run: (call: Call, args: z.output<Schema>) => Promise<Answer> | Answer;
}

/** Infers the type of the arguments of `run` from the schema. */
export const method = <Schema extends z.ZodType>(definition: Method<Schema>): Method => definition as unknown as Method;

export const invalidArguments = (description: string): MethodError => ({ type: 'invalidArguments', description });

/** An unreachable mailbox is `serverUnavailable`, which clients retry. */
export const toMethodError = (problem: Problem): MethodError => ({
  type: problem.status === 503 || problem.status === 429 ? 'serverUnavailable' : 'serverFail',
  ...(problem.detail === undefined ? {} : { description: problem.detail }),
});
