import { expect, it, vi } from 'vitest';
import { continentOf, openMailbox, placeMailbox } from '../../../workers/mail/bindings/mailbox.ts';

const namespace = {
  idFromName: (name: string) => name,
  get: vi.fn((id: string, options?: object) => ({ id, options })),
};
const env = { MAILBOX: namespace } as unknown as Env;

it.each([
  ['AF', { locationHint: 'afr' }],
  ['AS', { locationHint: 'apac' }],
  ['EU', { locationHint: 'weur' }],
  ['NA', { locationHint: 'enam' }],
  ['OC', { locationHint: 'oc' }],
  ['SA', { locationHint: 'sam' }],
  ['AN', {}],
  [null, {}],
] as const)(
  'a new mailbox of an owner in %s gets %j, and is the object that every other call opens',
  (continent, options) => {
    expect(placeMailbox(env, 'user-1', continent)).toEqual({ id: 'user-1', options });
    expect(openMailbox(env, 'user-1')).toEqual({ id: 'user-1', options: undefined });
  },
);

it('a request without a place has no continent', () => {
  expect(continentOf(new Request('https://app.example.test/'))).toBeNull();
});
