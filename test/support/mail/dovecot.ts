/**
 * Runs a real Dovecot as another provider's mail server, on ports of its own: TLS, and STARTTLS without which it takes no password.
 * Requires root. Every user exists, with the password `PASSWORD`.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ImapFlow } from 'imapflow';
import { reportMissing } from '../missing-programs.ts';
import { freePort } from '../server.ts';

export const PASSWORD = 'old-provider';

export interface Dovecot {
  /** Ports of TLS and STARTTLS. */
  readonly ports: { readonly imaps: number; readonly imap: number };
  /** Path of the certificate, for NODE_EXTRA_CA_CERTS. */
  readonly certificatePath: string;
  /** @returns a client that is logged in. */
  open(user: string): Promise<ImapFlow>;
  /** Number of successful log-ins of a user. */
  countLogins(user: string): number;
  /** Times of these log-ins, to the second. */
  loginTimes(user: string): number[];
  /** Cuts all connections in the middle of what they send. */
  cut(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Dovecot changes its user, so it starts only as root. */
export function hasDovecot(): boolean {
  const isInstalled = existsSync('/usr/sbin/dovecot') && existsSync('/usr/lib/dovecot/imap');
  if (!isInstalled) reportMissing('dovecot');
  return isInstalled && process.getuid?.() === 0;
}

export async function startDovecot(): Promise<Dovecot> {
  const directory = mkdtempSync('/tmp/tessera-dovecot-');
  const inner = { imaps: await freePort(), imap: await freePort() };
  const certificatePath = join(directory, 'cert.pem');
  for (const name of ['run', 'mail']) mkdirSync(join(directory, name));
  execFileSync('chmod', ['755', directory]);
  execFileSync('chown', ['nobody', join(directory, 'mail')]);
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const key = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    `${directory}/key.pem`,
  ];
  execFileSync('openssl', ['req', '-x509', '-days', '2', ...key, ...subject, '-out', certificatePath], {
    stdio: 'pipe',
  });
  writeFileSync(join(directory, 'dovecot.conf'), configuration(directory, inner));
  const log = join(directory, 'log');
  const child = spawn('dovecot', ['-F', '-c', join(directory, 'dovecot.conf')], { stdio: 'ignore' });
  const startedAt = Date.now();
  while (!(await canLogIn(inner.imaps))) {
    if (Date.now() > startedAt + 20_000) throw new Error(`Dovecot does not start: ${readFileSync(log, 'utf8')}`);
    await setTimeout(100);
  }
  const doors = [await openDoor(inner.imaps), await openDoor(inner.imap)] as const;
  return {
    ports: { imaps: doors[0].port, imap: doors[1].port },
    certificatePath,
    open: (user) => logIn(inner.imaps, user),
    countLogins: (user) => readLogins(log, user).length,
    loginTimes: (user) => readLogins(log, user),
    cut: () => {
      for (const door of doors) door.cut();
    },
    async [Symbol.asyncDispose]() {
      for (const door of doors) door.close();
      await new Promise<void>((resolve) => {
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      });
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Passes bytes on to a port, until it cuts them off. */
async function openDoor(target: number) {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const inside = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [client, inside],
      [inside, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    cut,
    close: () => {
      server.close();
      cut();
    },
  };
}

/** The log has neither year nor zone: `Nov 28 18:17:56 imap-login: Info: Login: user=<ann>, …`. */
const readLogins = (log: string, user: string): number[] =>
  readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.includes(`Login: user=<${user}>`))
    .map((line) => Date.parse(`${line.slice(0, 6)} 2000 ${line.slice(7, 15)}`));

async function logIn(port: number, user: string): Promise<ImapFlow> {
  const tls = { rejectUnauthorized: false };
  const client = new ImapFlow({
    host: 'localhost',
    port,
    secure: true,
    auth: { user, pass: PASSWORD },
    logger: false,
    tls,
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}

const canLogIn = async (port: number): Promise<boolean> => {
  try {
    const client = await logIn(port, 'probe');
    await client.logout();
    return true;
  } catch {
    return false;
  }
};

const configuration = (directory: string, ports: Dovecot['ports']): string => `
protocols = imap
listen = 127.0.0.1
base_dir = ${directory}/run
state_dir = ${directory}/run
log_path = ${directory}/log
ssl = required
ssl_cert = <${directory}/cert.pem
ssl_key = <${directory}/key.pem
disable_plaintext_auth = yes
auth_failure_delay = 0
mail_location = maildir:${directory}/mail/%u
mail_max_userip_connections = 50
first_valid_uid = 1
passdb {
  driver = static
  args = password=${PASSWORD}
}
userdb {
  driver = static
  args = uid=nobody gid=nogroup home=${directory}/mail/%u
}
service imap-login {
  inet_listener imap {
    port = ${ports.imap}
  }
  inet_listener imaps {
    port = ${ports.imaps}
    ssl = yes
  }
}
# No penalty after a wrong password.
service anvil {
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
namespace inbox {
  inbox = yes
  separator = .
  mailbox Sent {
    auto = create
    special_use = \\Sent
  }
  mailbox Drafts {
    auto = create
    special_use = \\Drafts
  }
  mailbox Junk {
    auto = create
    special_use = \\Junk
  }
}
`;
