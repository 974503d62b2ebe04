/**
 * An IMAP session (RFC 3501) over a `Pipe`: greeting, commands one after the other, and what changed after each.
 *
 * By design: the session does not know where it runs, and holds no state of the mailbox but the numbers that the client was told.
 * Gaps: no QRESYNC, ESEARCH, QUOTA, MULTIAPPEND, BINARY or IMAP4rev2; no \Recent.
 */

import type { Accounts } from './account.ts';
import { toHumanText } from './answers/strings.ts';
import { RequestError } from './client.ts';
import { BadCommandError, type Command, LiteralTooLargeError, readCommand } from './command.ts';
import { toRefusal } from './commands/folders.ts';
import { idle } from './commands/idle.ts';
import { findHandler } from './commands/index.ts';
import { capabilitiesOf, type LogInOptions, openCommand } from './commands/opening.ts';
import { type Answer, BrokenAnswerError, bad, no, SessionState } from './context.ts';
import { UidValidityError } from './folder-mirror.ts';
import { inTime, SilentError } from './in-time.ts';
import type { Peer, Pipe } from './pipe.ts';
import { EndedError, LineTooLongError, Wire } from './wire.ts';

export interface SessionOptions extends LogInOptions {
  readonly accounts: Accounts;
  /** Ends a connection without a command. RFC 3501 §5.4 asks for at least 30 minutes. */
  readonly autologoutMs?: number;
}

const AUTOLOGOUT_MS = 30 * 60_000;
/** Time to log in. */
const LOGIN_MS = 60_000;
/** Commands that cannot be read, after which a connection ends. */
const FAULTS_MAX = 20;
/** Commands in whose answers sequence numbers must stay (RFC 3501 §7.4.1). */
const KEEPS_NUMBERS = new Set(['FETCH', 'STORE', 'SEARCH']);

/** Runs until the client logs out, disappears or is silent for too long. Never throws. */
export async function runSession(pipe: Pipe, peer: Peer, options: SessionOptions): Promise<void> {
  const wire = new Wire(pipe);
  const session = new SessionState(wire, peer);
  try {
    await wire.say(`* OK [CAPABILITY ${capabilitiesOf(session)}] Tessera bridge ready\r\n`);
    await wire.flush();
    await runCommands(session, options);
  } catch (error) {
    const reason = toFarewell(error);
    if (reason !== null) await sayLast(wire, `* BYE ${reason}\r\n`);
  } finally {
    session.select(null);
    if (session.login) options.accounts.release(session.login.account);
    await pipe.close().catch(() => {});
  }
}

async function sayLast(wire: Wire, text: string): Promise<void> {
  await wire
    .say(text)
    .then(() => wire.flush())
    .catch(() => {});
}

class TooManyFaultsError extends Error {}
class TokenEndedError extends Error {}

/** @returns the text of BYE, or null if the connection is gone or in the middle of a literal. */
function toFarewell(error: unknown): string | null {
  if (error instanceof EndedError || error instanceof BrokenAnswerError) return null;
  if (error instanceof SilentError) return 'Autologout: no command for too long';
  if (error instanceof LineTooLongError) return 'Line too long';
  if (error instanceof LiteralTooLargeError) return 'Literal too large';
  if (error instanceof TooManyFaultsError) return 'Too many invalid commands';
  if (error instanceof TokenEndedError) return '[EXPIRED] The app token no longer opens this account';
  if (error instanceof UidValidityError) return 'The UIDs of the mailbox changed';
  return 'Internal error';
}

async function runCommands(session: SessionState, options: SessionOptions): Promise<void> {
  const { wire } = session;
  for (let faults = 0; ; ) {
    const line = await readInTime(session, options);
    if (line.length === 0) continue;
    let command: Command;
    try {
      command = await readCommand(wire, line, { canAppend: session.login !== null });
    } catch (error) {
      if (!(error instanceof BadCommandError)) throw error;
      await tell(session, error.tag, bad(error.message));
      if (++faults >= FAULTS_MAX) throw new TooManyFaultsError();
      continue;
    }
    if (command.name === 'LOGOUT') {
      await wire.say(`* BYE Logging out\r\n${command.tag} OK LOGOUT completed\r\n`);
      return wire.flush();
    }
    await answer(session, command, options);
    if (session.login?.account.hasEnded) throw new TokenEndedError();
  }
}

/** @throws SilentError */
function readInTime(session: SessionState, { autologoutMs = AUTOLOGOUT_MS }: SessionOptions): Promise<Uint8Array> {
  return inTime(session.wire.readLine(), session.login ? autologoutMs : Math.min(LOGIN_MS, autologoutMs));
}

async function answer(session: SessionState, command: Command, options: SessionOptions): Promise<void> {
  const opening = await openCommand(session, command, options);
  if (opening === 'done') return;
  if (opening) return tell(session, command.tag, opening);
  let outcome: Answer;
  try {
    outcome =
      command.name === 'IDLE'
        ? await idle(session, command, options.autologoutMs ?? AUTOLOGOUT_MS)
        : await handle(session, command);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (error.status === 401) throw new TokenEndedError();
    outcome = toRefusal(error);
  }
  if (session.view) await session.wire.say(session.view.takeChanges(!KEEPS_NUMBERS.has(command.name)));
  await tell(session, command.tag, outcome);
}

async function handle(session: SessionState, command: Command): Promise<Answer> {
  const { login, view, wire } = session;
  const found = findHandler(command.name);
  if (!found) return bad('Unknown command');
  if (!login) return no('Log in first');
  if (found.kind === 'any') return found.handler({ ...login, session, wire }, command);
  return view ? found.handler({ ...login, session, wire, view }, command) : bad('Select a mailbox first');
}

async function tell({ wire }: SessionState, tag: string, { status, code, text }: Answer): Promise<void> {
  await wire.say(`${tag} ${status} ${code ? `[${code}] ` : ''}${toHumanText(text)}\r\n`);
  await wire.flush();
}
