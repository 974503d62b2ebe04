/** The sender of a reply to mail that came to a masked address. A reply from the person's own address would tell whose it is. */
import { beforeEach, expect, it, vi } from 'vitest';
import type { Message } from '../../../web/mail/model/api.ts';
import { findMaskedSender } from '../../../web/mail/model/masked.ts';
import { ApiError } from '../../../web/shared/api.ts';

const MASKED = 'running.otter.4821@example.test';
const message = (part: Partial<Message> = {}) =>
  ({ to: [{ name: '', email: MASKED }], cc: [], ...part }) as unknown as Message;
const listed = (state: string) => [{ email: MASKED, state, note: 'Shoes', for_domain: '' }];

const answerWith = (status: number, body: unknown) => {
  const fetched = vi.fn(async () => new Response(JSON.stringify(body), { status }));
  vi.stubGlobal('fetch', fetched);
  return fetched;
};
beforeEach(() => vi.unstubAllGlobals());

it('refuses to answer when the list does not load', async () => {
  answerWith(503, { code: 'unavailable' });
  await expect(findMaskedSender(message())).rejects.toBeInstanceOf(ApiError);
});

it('reads the list again when it lacks an address of this form, which another device may have made', async () => {
  answerWith(200, []);
  expect(await findMaskedSender(message())).toBeNull();
  answerWith(200, listed('enabled'));
  expect((await findMaskedSender(message()))?.email).toBe(MASKED);
});

it('keeps an address that has ended as the sender', async () => {
  answerWith(200, listed('deleted'));
  const to = { to: [], delivered_to: 'Other.fox.1111@example.test' };
  await findMaskedSender(message(to as Partial<Message>));
  expect(await findMaskedSender(message())).toMatchObject({ email: MASKED, state: 'deleted' });
});

it('asks nothing for other messages', async () => {
  const fetched = answerWith(200, []);
  expect(await findMaskedSender(message({ to: [{ name: '', email: 'ann@example.test' }] }))).toBeNull();
  expect(fetched).not.toHaveBeenCalled();
});
