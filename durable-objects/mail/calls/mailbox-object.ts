import { DurableObject } from 'cloudflare:workers';
import { callInTrace } from '../../../workers/shared/telemetry/invocation.ts';
import { Transactions } from './transactions.ts';

/**
 * Base of all classes of calls. RPC exposes the methods of a class and of its base classes. So each concern has one class in its
 * own file, and each call is a plain method: one request to the object, and no stub to dispose of.
 *
 * By design:
 * - No getters that return RpcTargets. They would also cost one request, but the Vitest plugin cannot resolve `stub.group.call()`.
 * - Not one class with all calls, which would have over 60 methods and 600 lines.
 * - No mixins, which would hide where a call is declared.
 */
export class MailboxObject extends DurableObject<Env> {
  /** An instance property, because RPC does not expose those. */
  protected readonly transactions: Transactions;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.transactions = new Transactions(ctx, env);
    ctx.blockConcurrencyWhile(() => this.transactions.open());
  }

  async inTrace(traceId: string, method: string, args: unknown[]): Promise<unknown> {
    return callInTrace(this, this.env, traceId, method, args);
  }
}
