/** Tests that mail that a suspended user has queued is held, and sent once the suspension is lifted. */
import { expect, it } from 'vitest';
import { awaitMessage, awaitSunk, postInbound, readSink, registerUser } from '../../support/mail/mail.ts';
import { startServer } from '../../support/server.ts';

it('queued mail of a suspended user is held, and mail for the user still arrives', async () => {
  await using server = await startServer({
    vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '3' },
  });
  const ann = await registerUser(server, 'ann');
  const bob = await registerUser(server, 'bob');
  const send = async (token: string, to: string) => {
    const message = { to: [{ email: to }], subject: 'hello', body: 'hello' };
    expect((await server.call('POST', '/v1/messages', message, token)).status).toBe(202);
  };
  const isTo = (email: string) => (message: { envelope: { to: string[] } }) => message.envelope.to.includes(email);
  await send(ann.token, 'from-ann@third.test');
  const path = `/v1/accounts/${ann.userId}/suspension`;
  expect((await server.call('PUT', path, { reason: 'abuse' })).status).toBe(200);
  await send(bob.token, 'from-bob@third.test');
  await awaitSunk(server, 'mail of bob', isTo('from-bob@third.test'));
  const raw = `From: x@far.test\r\nTo: ${ann.email}\r\nSubject: kept\r\n\r\nx\r\n`;
  expect((await postInbound(server, raw, { from: 'x@far.test', to: ann.email })).status).toBe(202);
  expect(readSink(server).filter(isTo('from-ann@third.test'))).toEqual([]);
  expect((await server.call('DELETE', path)).status).toBe(204);
  await awaitMessage(server, ann, 'inbox', 'kept');
  // Wait: held mail is checked again after half a minute.
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: '60' });
  await awaitSunk(server, 'mail of ann', isTo('from-ann@third.test'));
});
