/** Runs the method calls of a request in order (RFC 8620 §3.4). */
import type { UserPrincipal } from '../../../identity/index.ts';
import { sharedTurns } from '../../../shared/concurrency/shared-turns.ts';
import { ANSWER_BYTES_MAX, OverBudgetError, RequestBudget } from '../../../shared/pure/request-budget.ts';
import { err } from '../../../shared/pure/result.ts';
import { createClock } from '../../../shared/settings/clock.ts';
import { logError } from '../../../shared/telemetry/log.ts';
import { callMailbox } from '../../routes/route.ts';
import { type EarlierAnswer, resolveReferences } from '../domain/result-references.ts';
import { CALL_ID_LENGTH_MAX, CHANGE_ANSWER_BYTES, ERRORS_BYTES, REFERENCES_PER_CALL_MAX } from './limits.ts';
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
    await sharedTurns.giveWay(user.userId);
    await run.call(...call);
    run.folders = null;
  }
  return {
    methodResponses: run.answers.map(({ name, args, callId }) => [name, args, callId]),
    ...(request.createdIds === null ? {} : { createdIds: Object.fromEntries(run.created) }),
  };
}

/** Methods that may answer `requestTooLarge` (RFC 8620 §5.1 and §5.3, RFC 8621 §4.9 and §5.1). RFC 8620 §3.6.2 has it for no others. */
const MAY_BE_TOO_LARGE = /\/(?:get|set|parse)$/;
/** @returns the error of a call whose references or answer exceed the budget of the request. Nothing was changed. */
const toTooLarge = (name: string): MethodError => ({
  type: MAY_BE_TOO_LARGE.test(name) ? 'requestTooLarge' : 'serverFail',
  description: `The answers of a request, and the values that it refers to, have at most ${ANSWER_BYTES_MAX} bytes. Ask for less, or in several requests.`,
});
/** Error of a call that changed something, but whose answer exceeds the budget. Its client must read the state again. */
const CHANGED_TOO_LARGE: MethodError = {
  type: 'serverPartialFail',
  description: 'The changes were made, but the answer is too large.',
};
/** RFC 8620 §5 and its extensions name methods by what they do. These change something. */
const CHANGES_STATE = /\/(?:set|import|upload|copy)$/;
/** Descriptions may quote the request. `ERRORS_BYTES` has room for this length. */
const DESCRIPTION_LENGTH_MAX = 500;

class RequestRun {
  readonly answers: EarlierAnswer[] = [];
  readonly created: Map<string, string>;
  folders: FoldersRead | null = null;
  readonly #env: Env;
  readonly #user: UserPrincipal;
  readonly #using: ReadonlySet<string>;
  readonly #methods: MethodTable;
  readonly #budget = new RequestBudget(ANSWER_BYTES_MAX);

  constructor(env: Env, user: UserPrincipal, request: JmapRequest, methods: MethodTable) {
    this.#env = env;
    this.#user = user;
    this.#using = new Set([...request.using, ...(request.using.includes(CAPABILITIES.mail) ? OPENED_BY_MAIL : [])]);
    this.#methods = methods;
    this.created = new Map(Object.entries(request.createdIds ?? {}));
    this.#budget.spend(ERRORS_BYTES);
    // A request has fewer bytes than the budget, so this never exceeds it.
    this.#budget.spendJson(request.createdIds);
  }

  /** Runs one call. @param isImplicit true for a call that another method makes; the client need not name its capability. */
  async call(name: string, args: Arguments, callId: string, isImplicit = false): Promise<void> {
    // A method's answer comes before the answers of the calls that it makes.
    const followers: [string, Arguments][] = [];
    const createdBefore = this.created.size;
    const answer = this.#count(
      name,
      await this.#answer(name, args, isImplicit, async (...follower) => {
        followers.push(follower);
      }),
      createdBefore,
    );
    this.answers.push(
      answer.ok
        ? { name, args: answer.value, callId }
        : { name: 'error', args: toErrorArguments(answer.error), callId },
    );
    for (const follower of followers) await this.call(...follower, callId, true);
  }

  /** Counts an answer before it is kept. @returns the answer; an error if it exceeds the budget. */
  #count(name: string, answer: Answer, createdBefore: number): Answer {
    if (!answer.ok) return answer;
    try {
      this.#budget.spendJson(Object.fromEntries([...this.created].slice(createdBefore)));
      this.#budget.spendJson([name, answer.value]);
      this.#budget.spend(CALL_ID_LENGTH_MAX);
      return answer;
    } catch (error) {
      if (!(error instanceof OverBudgetError)) throw error;
      return err(CHANGES_STATE.test(name) ? CHANGED_TOO_LARGE : toTooLarge(name));
    }
  }

  async #answer(name: string, args: Arguments, isImplicit: boolean, alsoRun: Call['alsoRun']): Promise<Answer> {
    const method = Object.hasOwn(this.#methods, name) ? this.#methods[name] : undefined;
    const isNamed = method && (isImplicit || this.#using.has(CAPABILITIES[method.capability]));
    if (!isNamed) return err({ type: 'unknownMethod' });
    try {
      const resolved = resolveReferences(args, {
        answers: this.answers,
        referencesMax: REFERENCES_PER_CALL_MAX,
        budget: this.#budget,
      });
      if (!resolved.ok) return resolved;
      // A budget that is used up refuses each further call before it does any work.
      const neededBytes = CHANGES_STATE.test(name) ? CHANGE_ANSWER_BYTES : 1;
      if (this.#budget.leftBytes < neededBytes) return err(toTooLarge(name));
      return await this.#run(method, resolved.value, alsoRun);
    } catch (error) {
      if (error instanceof OverBudgetError) {
        this.#budget.exhaust();
        return err(toTooLarge(name));
      }
      logError('jmap_method_failed', error, { method: name });
      return err({ type: 'serverFail' });
    }
  }

  async #run(method: Method, args: Arguments, alsoRun: Call['alsoRun']): Promise<Answer> {
    const parsed = method.schema.safeParse(args);
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
      parts: this.#budget.copy(),
      created: this.created,
      folders: this.folders,
      ask: (question) => callMailbox(this.#env, this.#user.userId, question),
      alsoRun,
    };
    return method.run(call, parsed.data);
  }

  #findAccountError({ accountId, fromAccountId }: Arguments): MethodError | null {
    if (fromAccountId !== undefined && fromAccountId === accountId)
      return invalidArguments('fromAccountId and accountId are the same account.');
    if (fromAccountId !== undefined && fromAccountId !== this.#user.userId) return { type: 'fromAccountNotFound' };
    return accountId === undefined || accountId === this.#user.userId ? null : { type: 'accountNotFound' };
  }
}

const toErrorArguments = ({ type, description }: MethodError): Arguments => ({
  type,
  ...(description === undefined ? {} : { description: description.slice(0, DESCRIPTION_LENGTH_MAX) }),
});
