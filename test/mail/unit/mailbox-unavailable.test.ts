import { describe, expect, it } from 'vitest';
import { callMailbox } from '../../../workers/mail/routes/route.ts';

/** Bindings with a mailbox that cannot be reached. A real one cannot be put into this state from outside. */
const unreachable = (error: object): Env =>
  ({
    MAILBOX: {
      idFromName: (name: string) => name,
      get: () => ({
        listFolders: () => Promise.reject(error),
      }),
    },
  }) as unknown as Env;
const ask = (error: object) => callMailbox(unreachable(error), 'user', (mailbox) => mailbox.listFolders());

describe('a mailbox that cannot be reached', () => {
  it('returns 503 mailbox_unavailable with Retry-After', async () => {
    for (const error of [
      new Error('Network connection lost.'),
      Object.assign(new Error('overloaded'), { remote: true, overloaded: true }),
      Object.assign(new Error('reset'), { remote: true, retryable: true }),
    ]) {
      expect(await ask(error)).toMatchObject({
        ok: false,
        error: { status: 503, code: 'mailbox_unavailable', retryAfterSeconds: expect.any(Number) },
      });
    }
  });

  it('is distinguished from a mailbox with a bug', async () => {
    await expect(ask(Object.assign(new Error('a bug'), { remote: true }))).rejects.toThrow('a bug');
  });
});
