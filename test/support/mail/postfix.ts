/**
 * Runs a real Postfix as the outside world, with its own configuration, queue and mailboxes. Requires root. It hosts
 * `outside.test`, offers STARTTLS with a certificate of a temporary authority, and relays `example.test` to Tessera.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reportMissing } from '../missing-programs.ts';

export interface Postfix {
  readonly port: number;
  /** Path of the authority's PEM file, for NODE_EXTRA_CA_CERTS. */
  readonly authorityPath: string;
  /** Reads a mailbox of Postfix. @returns the raw messages in the mailbox of `<name>@outside.test`. */
  read(name: string): Buffer[];
  log(): string;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface PostfixOptions {
  readonly port: number;
  /** Local parts that have a mailbox at outside.test. */
  readonly mailboxes: readonly string[];
  readonly sizeBytesMax: number;
  /** Port on loopback to which Postfix relays mail for example.test. */
  readonly ourPort: number;
}

/** Postfix starts only as root. */
export function hasPostfix(): boolean {
  const isInstalled = existsSync('/usr/sbin/postfix') && existsSync('/usr/share/postfix/master.cf.dist');
  if (!isInstalled) reportMissing('postfix');
  return isInstalled && process.getuid?.() === 0;
}

export function startPostfix(options: PostfixOptions): Postfix {
  const directory = mkdtempSync('/tmp/tessera-postfix-');
  execFileSync('chmod', ['755', directory]);
  const etc = join(directory, 'etc');
  for (const name of ['etc', 'queue', 'data', 'mail']) mkdirSync(join(directory, name));
  execFileSync('chown', ['postfix', join(directory, 'data'), join(directory, 'mail')]);
  makeCertificates(directory);
  const [uid, gid] = ['-u', '-g'].map((flag) => execFileSync('id', [flag, 'postfix'], { encoding: 'utf8' }).trim());
  const boxes = options.mailboxes.map((name) => `{ ${name}@outside.test = ${name}/ }`).join(', ');
  writeFileSync(
    join(etc, 'main.cf'),
    [
      'compatibility_level = 3.6',
      `queue_directory = ${directory}/queue`,
      `data_directory = ${directory}/data`,
      'daemon_directory = /usr/lib/postfix/sbin',
      'command_directory = /usr/sbin',
      'mail_owner = postfix',
      'setgid_group = postdrop',
      'maillog_file_prefixes = /tmp',
      `maillog_file = ${directory}/postfix.log`,
      'inet_interfaces = 127.0.0.1',
      'inet_protocols = ipv4',
      'myhostname = mx.outside.test',
      'mydestination =',
      'local_recipient_maps =',
      'alias_maps =',
      'mynetworks = 127.0.0.0/8',
      'smtpd_peername_lookup = no',
      'smtp_dns_support_level = disabled',
      'smtp_host_lookup = native',
      'virtual_mailbox_domains = outside.test',
      `virtual_mailbox_maps = inline:{ ${boxes} }`,
      `virtual_mailbox_base = ${directory}/mail`,
      'virtual_minimum_uid = 1',
      `virtual_uid_maps = static:${uid}`,
      `virtual_gid_maps = static:${gid}`,
      `message_size_limit = ${options.sizeBytesMax}`,
      'smtpd_tls_security_level = may',
      `smtpd_tls_cert_file = ${directory}/server.pem`,
      `smtpd_tls_key_file = ${directory}/server.key`,
      'relay_domains = example.test',
      `transport_maps = inline:{ { example.test = smtp:[127.0.0.1]:${options.ourPort} } }`,
      '',
    ].join('\n'),
  );
  const master = readFileSync('/usr/share/postfix/master.cf.dist', 'utf8')
    .replace(/^smtp(\s+inet)/m, `127.0.0.1:${options.port}$1`)
    // Turn off chroot for all services, because this configuration has no chroot files.
    .replace(/^(\S+\s+(?:inet|unix|fifo|pass)\s+\S+\s+\S+\s+)y(\s)/gm, '$1n$2');
  writeFileSync(join(etc, 'master.cf'), master);
  execFileSync('postfix', ['-c', etc, 'start'], { stdio: 'pipe', timeout: 60_000 });
  return {
    port: options.port,
    authorityPath: join(directory, 'authority.pem'),
    read(name) {
      const folder = join(directory, 'mail', name, 'new');
      return existsSync(folder) ? readdirSync(folder).map((file) => readFileSync(join(folder, file))) : [];
    },
    log: () => readFileSync(join(directory, 'postfix.log'), 'utf8'),
    async [Symbol.asyncDispose]() {
      execFileSync('postfix', ['-c', etc, 'stop'], { stdio: 'pipe', timeout: 60_000 });
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function makeCertificates(directory: string): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...key, '-keyout', 'authority.key', '-out', 'authority.pem', '-subj', '/CN=throw-away');
  openssl('req', ...key, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost');
  writeFileSync(join(directory, 'san.txt'), 'subjectAltName=DNS:localhost\n');
  const signer = ['-CA', 'authority.pem', '-CAkey', 'authority.key', '-CAcreateserial'];
  openssl('x509', '-req', '-in', 'server.csr', ...signer, '-out', 'server.pem', '-extfile', 'san.txt');
}
