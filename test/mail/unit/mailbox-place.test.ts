import { expect, it } from 'vitest';
import { continentOf, openMailbox, placeMailbox } from '../../../workers/mail/bindings/mailbox.ts';

const namespaceIn = (place: string): object => ({
  jurisdiction: namespaceIn,
  idFromName: (name: string) => `${place}:${name}`,
  get: (id: string, options?: object) => ({ id, options }),
});
const env = { MAILBOX: namespaceIn('anywhere') } as unknown as Env;
const inEu = { ...env, JURISDICTION: 'eu' };

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
    expect(placeMailbox(env, 'user-1', continent)).toEqual({ id: 'anywhere:user-1', options });
    expect(openMailbox(env, 'user-1')).toEqual({ id: 'anywhere:user-1', options: {} });
    // With a jurisdiction, the location hint is ignored: the jurisdiction decides where the mailbox is.
    expect(placeMailbox(inEu, 'user-1', continent)).toEqual({ id: 'eu:user-1', options: {} });
    expect(openMailbox(inEu, 'user-1')).toEqual({ id: 'eu:user-1', options: {} });
  },
);

it('a request without a place has no continent', () => {
  expect(continentOf(new Request('https://app.example.test/'))).toBeNull();
});
