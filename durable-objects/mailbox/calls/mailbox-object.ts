import { DurableObject } from 'cloudflare:workers';
import { callInTrace } from '../../../workers/shared/invocation.ts';
import { Transactions } from './transactions.ts';

/**
 * The base of all classes of calls. RPC exposes the methods of a class and of the classes it extends. So each concern has one class in
 * its own file, and each call is a plain method: one request to the object, and no stub to dispose of.
 *
 * By design: no getters that return RpcTargets. They also cost one request, but the Vitest plugin cannot resolve `stub.group.call()`.
 * One class with all calls would have over 60 methods and 600 lines. Mixins would hide where a call is declared.
 */
export class MailboxObject extends DurableObject<Env> {
  /** An instance property: RPC does not expose it. */
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
