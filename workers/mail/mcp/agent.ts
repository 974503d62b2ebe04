/** The caller of `/v1/mcp`: a program that works for a person, with the scopes of its token. */
import { randomBytes } from 'node:crypto';
import type { MessageDetail } from '../../../durable-objects/mail/contract/messages.ts';
import type { AgentScope, UserPrincipal } from '../../identity/index.ts';
import type { Problem } from '../../shared/json/problem.ts';
import type { Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import type { MailboxRpc } from '../bindings/mailbox.ts';
import { callMailbox } from '../routes/route.ts';
import type { MailError } from '../schemas/errors.ts';

export interface Agent {
  readonly env: Env;
  readonly user: UserPrincipal;
  readonly now: number;
  /** Random word of this answer, in the fences of foreign text. */
  readonly mark: string;
  readonly has: (scope: AgentScope) => boolean;
  /** Calls the mailbox of the token's user, which no parameter can change. @throws ToolError for a problem. */
  readonly ask: <T>(question: (mailbox: MailboxRpc) => Promise<Result<T, MailError>>) => Promise<T>;
  readonly waitUntil: (work: Promise<unknown>) => void;
  /** Mails the person that a message waits. */
  readonly noticeWaiting: () => void;
}

/** What a tool answers in place of a result. Its text is ours. */
export class ToolError extends Error {}

export const refuse = ({ detail, title }: Problem): never => {
  throw new ToolError(detail ?? title);
};

export function orRefuse<T>(result: Result<T, Problem>): T {
  return result.ok ? result.value : refuse(result.error);
}

export function createAgent(env: Env, user: UserPrincipal, rest: Pick<Agent, 'waitUntil' | 'noticeWaiting'>): Agent {
  return {
    env,
    user,
    now: createClock(env)(),
    mark: randomBytes(6).toString('hex'),
    has: (scope) => user.scopes?.includes(scope) ?? false,
    ask: async (question) => orRefuse(await callMailbox(env, user.userId, question)),
    ...rest,
  };
}

export function requireAgentScope(agent: Agent, scope: AgentScope): void {
  if (!agent.has(scope))
    throw new ToolError(`This connection lacks the scope ${scope}. The person can give it in Settings, Agents.`);
}

/** @throws ToolError for an unknown id. */
export const readMessage = (agent: Agent, id: string): Promise<MessageDetail> =>
  agent.ask((mailbox) => mailbox.readMessage(id));
