import { DurableObject } from 'cloudflare:workers';
import { Transactions } from './transactions.ts';

/**
 * What every class of calls extends. RPC reaches the methods of a class and of all classes that it extends, so the calls of one concern
 * are one class in a file of their own, and a call is one plain method: one request to the object and nothing to dispose of.
 */
export class MailboxObject extends DurableObject<Env> {
  /** An instance property: RPC does not expose it. */
  protected readonly transactions: Transactions;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.transactions = new Transactions(ctx, env);
    ctx.blockConcurrencyWhile(() => this.transactions.open());
  }
}
