import { expect, it } from 'vitest';
import {
  callInTrace,
  currentInvocation,
  readTraceParent,
  runInvocation,
} from '../../../workers/shared/telemetry/invocation.ts';

const ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const env = {} as Env;

it.each([
  [`00-${ID}-00f067aa0ba902b7-01`, ID],
  // A later version of the header `traceparent` may have more fields.
  [`cc-${ID}-00f067aa0ba902b7-01-more`, ID],
  [`ff-${ID}-00f067aa0ba902b7-01`, undefined],
  [`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, '0'.repeat(32)],
  [`00-${ID}-${'0'.repeat(16)}-01`, undefined],
  [`00-${ID.toUpperCase()}-00f067aa0ba902b7-01`, undefined],
  [`00-${ID}-00f067aa0ba902b7`, undefined],
  ['', undefined],
  [null, undefined],
])('reads %s', (header, expected) => {
  expect(readTraceParent(header)).toBe(expected);
});

it('keeps a valid trace through awaits, and begins one otherwise', async () => {
  const seen = await runInvocation(env, ID, async () => {
    await Promise.resolve();
    return currentInvocation()?.traceId;
  });
  expect(seen).toBe(ID);
  for (const bad of [undefined, '', '0'.repeat(32), `${ID}00`])
    expect(runInvocation(env, bad, () => currentInvocation()?.traceId)).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
  expect(currentInvocation()).toBeUndefined();
});

it('calls methods of an object only', async () => {
  const object = { ctx: {}, add: (a: number, b: number) => `${a + b} ${currentInvocation()?.traceId}` };
  expect(await callInTrace(object, env, ID, 'add', [1, 2])).toBe(`3 ${ID}`);
  await expect(callInTrace(object, env, ID, 'ctx', [])).rejects.toThrow('no call is named ctx');
});
