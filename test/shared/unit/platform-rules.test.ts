import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, expect, it, vi } from 'vitest';
import { makeRules, type RuledInvocation, type Rules } from '../../support/platform/rules.ts';
import type { BindingCall, BindingKind } from '../../support/platform/wrap-bindings.ts';

const LOW: Rules = { connections: 2, subrequests: 5, queries: 3, deadlockMs: 10 };
afterEach(() => vi.restoreAllMocks());

function begin(isObject = false) {
  const invocations = new AsyncLocalStorage<RuledInvocation>();
  const { intercept, begin: start } = makeRules(LOW, () => invocations.getStore());
  const invocation = start({ event: 'fetch', isObject, isDone: false });
  const toCall = (kind: BindingKind): BindingCall => ({ binding: kind.toUpperCase(), kind, method: 'get', args: [] });
  const call = <T>(kind: BindingKind, run: () => Promise<T>): Promise<T> =>
    invocations.run(invocation, () => intercept(toCall(kind), run));
  return { call, invocation };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

it('lets a call beyond the connections wait until one is free', async () => {
  const { call } = begin();
  const order: string[] = [];
  const first = Promise.withResolvers<void>();
  const calls = [
    call('r2', () => first.promise),
    call('fetch', () => new Promise(() => {})),
    call('queue', async () => void order.push('third')),
  ];
  await turn();
  expect(order).toEqual([]);
  first.resolve();
  await calls[2];
  expect(order).toEqual(['third']);
});

it('reports calls that wait for each other', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
  const { call } = begin();
  for (let at = 0; at < 3; at++) void call('r2', () => new Promise(() => {}));
  await vi.waitFor(() => expect(printed).toHaveBeenCalledOnce());
  expect(JSON.parse(String(printed.mock.calls[0]?.[0]))).toMatchObject({
    event: 'platform_violation',
    rule: 'connections',
    detail: 'R2.get waits for R2.get, R2.get',
  });
});

it('does not count calls of D1 and objects as connections', async () => {
  const { call } = begin();
  for (let at = 0; at < 2; at++) void call('r2', () => new Promise(() => {}));
  await call('d1', async () => {});
  await call('object', async () => {});
});

it('refuses queries and subrequests beyond the budget', async () => {
  const { call } = begin();
  for (let at = 0; at < LOW.queries; at++) await call('d1', async () => {});
  await expect(call('d1', async () => {})).rejects.toThrow('Too many queries');
  await call('r2', async () => {});
  await expect(call('r2', async () => {})).rejects.toThrow('Too many subrequests');
});

it('does not count work of an object after its event', async () => {
  const { call, invocation } = begin(true);
  for (let at = 0; at < LOW.subrequests; at++) await call('r2', async () => {});
  invocation.isDone = true;
  await call('r2', async () => {});
});
