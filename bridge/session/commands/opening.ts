/** Commands before the log-in, and those that need none: CAPABILITY, ID, STARTTLS, LOGIN and AUTHENTICATE. */
import type { Accounts } from '../account.ts';
import { toHumanText } from '../answers/strings.ts';
import { RequestError } from '../client.ts';
import { type Command, textOf } from '../command.ts';
import { type Answer, bad, no, ok, type SessionState, SYNTAX } from '../context.ts';
import { isLoopback } from '../pipe.ts';

export interface LogInOptions {
  readonly accounts: Accounts;
  /** Address of the page that makes app tokens, for the answer to a password. */
  readonly devicesUrl: string;
  readonly connectionsPerTokenMax?: number;
  /** Called after each refused log-in, with the address of the client. */
  readonly onRefused?: (address: string) => void;
}

const CONNECTIONS_PER_TOKEN_MAX = 20;
/** Each is used by a program that was tried: docs/bridge.md says which were tried. */
const BEFORE_LOGIN = 'IMAP4rev1 LITERAL- SASL-IR ID ENABLE';
const AFTER_LOGIN = `${BEFORE_LOGIN} IDLE NAMESPACE UIDPLUS MOVE UNSELECT CONDSTORE SPECIAL-USE LIST-EXTENDED LIST-STATUS`;

const canLogIn = (session: SessionState): boolean => session.isTls || isLoopback(session.peer.address);

export function capabilitiesOf(session: SessionState): string {
  if (session.login) return AFTER_LOGIN;
  const startTls = session.wire.canStartTls && !session.isTls ? ' STARTTLS' : '';
  return `${BEFORE_LOGIN}${startTls} ${canLogIn(session) ? 'AUTH=PLAIN' : 'LOGINDISABLED'}`;
}

/** @returns the answer, `done` if it was sent, or null for commands of other files. */
export async function openCommand(
  session: SessionState,
  command: Command,
  options: LogInOptions,
): Promise<Answer | 'done' | null> {
  const { wire, login } = session;
  switch (command.name) {
    case 'CAPABILITY':
      await wire.say(`* CAPABILITY ${capabilitiesOf(session)}\r\n`);
      return ok('CAPABILITY completed');
    case 'ID':
      await wire.say('* ID ("name" "Tessera bridge")\r\n');
      return ok('ID completed');
    case 'STARTTLS':
      return startTls(session, command);
    case 'LOGIN':
    case 'AUTHENTICATE PLAIN':
      if (login) return bad('Already logged in');
      return logIn(session, command, options);
    case 'NOOP':
      return login ? null : ok('NOOP completed');
    default:
      return command.name.startsWith('AUTHENTICATE') ? no('Mechanism not supported', 'CANNOT') : null;
  }
}

async function startTls(session: SessionState, { tag, args }: Command): Promise<Answer | 'done'> {
  const { wire } = session;
  if (args.length > 0) return SYNTAX;
  if (!wire.canStartTls || session.isTls) return bad('TLS is not available');
  await wire.say(`${tag} OK Begin TLS\r\n`);
  await wire.flush();
  await wire.startTls();
  session.noteTls();
  return 'done';
}

interface Credentials {
  readonly name: string;
  readonly token: string;
}

async function logIn(session: SessionState, command: Command, options: LogInOptions): Promise<Answer> {
  if (!canLogIn(session)) return no('Log in only after STARTTLS', 'PRIVACYREQUIRED');
  const credentials = command.name === 'LOGIN' ? readLogin(command) : await readPlain(session, command);
  if (!credentials) return SYNTAX;
  const { accounts, devicesUrl, connectionsPerTokenMax = CONNECTIONS_PER_TOKEN_MAX } = options;
  if (accounts.count(credentials.token) >= connectionsPerTokenMax)
    return no('Too many connections with this app token', 'LIMIT');
  try {
    if (!isToken(credentials.token)) throw new RequestError(401, 'invalid_token', 'Not an app token');
    const login = await accounts.open(credentials.token, session.peer.address);
    const { address, addresses } = login.account.overview;
    if ([address, ...addresses].includes(credentials.name.trim().toLowerCase())) {
      session.logIn(login);
      return ok('Logged in', `CAPABILITY ${capabilitiesOf(session)}`);
    }
    accounts.release(login.account);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (!error.isRefusedLogin) return no(toHumanText(error.message), 'UNAVAILABLE');
  }
  options.onRefused?.(session.peer.address);
  return no(`Use the address of the account and an app token, made at ${devicesUrl}`, 'AUTHENTICATIONFAILED');
}

/** A bearer token has no other characters, so a password with others is not sent to the server. */
const isToken = (text: string): boolean => /^[A-Za-z0-9._~+/=-]{8,512}$/.test(text);

function readLogin({ args }: Command): Credentials | null {
  const [name, token] = [textOf(args[0]), textOf(args[1])];
  return name === null || token === null || args.length !== 2 ? null : { name, token };
}

/** RFC 4616, with or without an initial response (RFC 4959). */
async function readPlain({ wire }: SessionState, { args }: Command): Promise<Credentials | null> {
  let response = textOf(args[0]);
  if (args.length > 1) return null;
  if (response === null) {
    await wire.say('+ \r\n');
    await wire.flush();
    response = Buffer.from(await wire.readLine()).toString('latin1');
  }
  const parts = Buffer.from(response, 'base64').toString('utf8').split('\0');
  const [identity = '', name = '', token = ''] = parts;
  return parts.length === 3 && (identity === '' || identity === name) ? { name, token } : null;
}
