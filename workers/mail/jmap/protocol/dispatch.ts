/** Runs the method calls of a request in order (RFC 8620 §3.4). */
import type { UserPrincipal } from '../../../identity/index.ts';
import { createClock } from '../../../shared/clock.ts';
import { logError } from '../../../shared/log.ts';
import { err } from '../../../shared/result.ts';
import { callMailbox } from '../../routes/route.ts';
import { type EarlierAnswer, resolveReferences } from '../domain/result-references.ts';
import {
  type Answer,
  type Arguments,
  CAPABILITIES,
  type Call,
  type FoldersRead,
  type Invocation,
  invalidArguments,
  type Method,
  type MethodError,
} from './method.ts';
import type { JmapRequest } from './request.ts';

export interface JmapResponse {
  readonly methodResponses: readonly Invocation[];
  readonly createdIds?: Readonly<Record<string, string>>;
}

/**
 * Capabilities that `mail` includes here. RFC 8620 §3.3 requires clients to name every capability they use, but widely used clients
 * name only `mail` and still submit mail and read quotas. Allowing this is harmless, because clients call each method by its name.
 */
const OPENED_BY_MAIL = [CAPABILITIES.submission, CAPABILITIES.quota];

type MethodTable = Readonly<Record<string, Method>>;

/** Runs the calls of a request. @param folders the folders, if they were read for the first call together with the credential. */
export async function dispatch(
  env: Env,
  user: UserPrincipal,
  request: JmapRequest,
  methods: MethodTable,
  folders: FoldersRead | null,
): Promise<JmapResponse> {
  const run = new RequestRun(env, user, request, methods);
  run.folders = folders;
  for (const call of request.methodCalls) {
    await run.call(...call);
    run.folders = null;
  }
  return {
    methodResponses: run.answers.map(({ name, args, callId }) => [name, args, callId]),
    ...(request.createdIds === null ? {} : { createdIds: Object.fromEntries(run.created) }),
  };
}

class RequestRun {
  readonly answers: EarlierAnswer[] = [];
  readonly created: Map<string, string>;
  folders: FoldersRead | null = null;
  readonly #env: Env;
  readonly #user: UserPrincipal;
  readonly #using: ReadonlySet<string>;
  readonly #methods: MethodTable;

  constructor(env: Env, user: UserPrincipal, request: JmapRequest, methods: MethodTable) {
    this.#env = env;
    this.#user = user;
    this.#using = new Set([...request.using, ...(request.using.includes(CAPABILITIES.mail) ? OPENED_BY_MAIL : [])]);
    this.#methods = methods;
    this.created = new Map(Object.entries(request.createdIds ?? {}));
  }

  /** Runs one call. @param isImplicit true for a call that another method makes; the client need not name its capability. */
  async call(name: string, args: Arguments, callId: string, isImplicit = false): Promise<void> {
    // A method's answer comes before the answers of the calls that it makes.
    const followers: [string, Arguments][] = [];
    const answer = await this.#answer(name, args, isImplicit, async (...follower) => {
      followers.push(follower);
    });
    this.answers.push(
      answer.ok ? { name, args: answer.value, callId } : { name: 'error', args: { ...answer.error }, callId },
    );
    for (const follower of followers) await this.call(...follower, callId, true);
  }

  async #answer(name: string, args: Arguments, isImplicit: boolean, alsoRun: Call['alsoRun']): Promise<Answer> {
    const method = Object.hasOwn(this.#methods, name) ? this.#methods[name] : undefined;
    const isNamed = method && (isImplicit || this.#using.has(CAPABILITIES[method.capability]));
    if (!isNamed) return err({ type: 'unknownMethod' });
    const resolved = resolveReferences(args, this.answers);
    if (!resolved.ok) return resolved;
    const parsed = method.schema.safeParse(resolved.value);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return err(invalidArguments(`${issue?.path.join('.') || 'arguments'}: ${issue?.message ?? ''}`));
    }
    const refusal = this.#findAccountError(parsed.data as Arguments);
    if (refusal) return err(refusal);
    const call: Call = {
      env: this.#env,
      user: this.#user,
      accountId: this.#user.userId,
      now: createClock(this.#env)(),
      created: this.created,
      folders: this.folders,
      ask: (question) => callMailbox(this.#env, this.#user.userId, question),
      alsoRun,
    };
    try {
      return await method.run(call, parsed.data);
    } catch (error) {
      logError('jmap_method_failed', error, { method: name });
      return err({ type: 'serverFail' });
    }
  }

  #findAccountError({ accountId, fromAccountId }: Arguments): MethodError | null {
    if (fromAccountId !== undefined && fromAccountId === accountId)
      return invalidArguments('fromAccountId and accountId are the same account.');
    if (fromAccountId !== undefined && fromAccountId !== this.#user.userId) return { type: 'fromAccountNotFound' };
    return accountId === undefined || accountId === this.#user.userId ? null : { type: 'accountNotFound' };
  }
}
