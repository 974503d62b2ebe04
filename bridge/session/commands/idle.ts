/** IDLE (RFC 2177): tells changes as they come, until the client sends DONE. */
import type { Command } from '../command.ts';
import { type Answer, bad, no, ok, type SessionState, SYNTAX } from '../context.ts';
import { UidValidityError } from '../folder-mirror.ts';
import { inTime } from '../in-time.ts';

export async function idle(session: SessionState, { args }: Command, limitMs: number): Promise<Answer> {
  const { login, wire, view } = session;
  if (!login) return no('Log in first');
  if (args.length > 0) return SYNTAX;
  await view?.mirror.sync();
  await wire.say('+ idling\r\n');
  if (view) await wire.say(view.takeChanges(true));
  await wire.flush();
  const line = inTime(wire.readLine(), limitMs);
  let wake = (): void => {};
  let isAwake = false;
  const stop = login.account.listen(() => {
    isAwake = true;
    wake();
  });
  try {
    for (;;) {
      const pushed = new Promise<null>((resolve) => {
        wake = () => resolve(null);
        if (isAwake) resolve(null);
      });
      const done = await Promise.race([line, pushed]);
      if (done !== null)
        return Buffer.from(done).toString('latin1').trim().toUpperCase() === 'DONE'
          ? ok('IDLE completed')
          : bad('Expected DONE');
      isAwake = false;
      if (login.account.hasEnded) return no('The app token no longer opens this account', 'EXPIRED');
      if (!view) continue;
      if (view.mirror.isInvalid) throw new UidValidityError();
      await wire.say(view.takeChanges(true));
      await wire.flush();
    }
  } finally {
    stop();
    line.catch(() => {});
  }
}
