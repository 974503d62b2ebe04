/** Signs mail with dkimpy and OpenDKIM, using new keys, and resolves their DNS records from a zone. */
import { execFileSync, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ResolveDns } from '../../../workers/mail/checks/index.ts';

export type Zone = Readonly<Record<string, readonly string[]>>;

/**
 * Resolves names from a zone with keys such as `TXT example.org`. If a name has only records of other types, the result is empty.
 */
export function resolveFrom(zone: Zone): ResolveDns {
  return async (name, type) => {
    const records = zone[`${type} ${name.toLowerCase()}`];
    if (records !== undefined) return { ok: true, value: records };
    const exists = Object.keys(zone).some((key) => key.endsWith(` ${name.toLowerCase()}`));
    return exists ? { ok: true, value: [] } : { ok: false, error: { kind: 'no_such_domain' } };
  };
}

export interface SigningKey {
  readonly domain: string;
  readonly selector: string;
  /** Private key in the format of dkimpy: PEM for RSA, the seed in Base64 for Ed25519. */
  readonly secret: string;
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256';
  readonly record: string;
}

export function makeKey(domain: string, selector: string, kind: 'rsa' | 'ed25519', bits = 2048): SigningKey {
  if (kind === 'rsa') {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: bits });
    const secret = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
    const record = `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`;
    return { domain, selector, secret, algorithm: 'rsa-sha256', record };
  }
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const secret = privateKey.export({ type: 'pkcs8', format: 'der' }).subarray(-32).toString('base64');
  const record = `v=DKIM1; k=ed25519; p=${publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')}`;
  return { domain, selector, secret, algorithm: 'ed25519-sha256', record };
}

export const toZone = (...keys: readonly SigningKey[]): Record<string, readonly string[]> =>
  Object.fromEntries(keys.map((key) => [`TXT ${key.selector}._domainkey.${key.domain}`, [key.record]]));

export interface SigningStep {
  readonly do: 'dkim' | 'arc';
  readonly key: SigningKey;
  readonly canonicalize?: string;
  readonly length?: boolean;
  /** Value of the Authentication-Results header of an ARC hop. It starts with the name of the hop. */
  readonly results?: string;
}

export interface SigningJob {
  readonly message: string;
  readonly steps: readonly SigningStep[];
}

/** Signs all messages in one run of Python, because starting Python is slow. */
export function signByDkimpy<Name extends string>(jobs: Readonly<Record<Name, SigningJob>>): Record<Name, Buffer> {
  const input = Object.values<SigningJob>(jobs).map(({ message, steps }) => ({
    message: Buffer.from(message).toString('base64'),
    steps: steps.map(({ key, results = '', ...step }) => ({
      ...step,
      results,
      srv_id: results.split(';')[0],
      selector: key.selector,
      domain: key.domain,
      key: key.secret,
      algorithm: key.algorithm,
    })),
  }));
  const script = join(import.meta.dirname, 'sign-mail.py');
  const output = execFileSync('/usr/bin/python3', [script], { input: JSON.stringify(input), maxBuffer: 1e9 });
  const signed = JSON.parse(output.toString()) as string[];
  const names = Object.keys(jobs) as Name[];
  return Object.fromEntries(names.map((name, at) => [name, Buffer.from(signed[at] ?? '', 'base64')])) as Record<
    Name,
    Buffer
  >;
}

/** Signs with the test mode of the OpenDKIM milter, which prints the header field that it would insert. */
export function signByOpendkim(message: string, key: SigningKey, form: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'opendkim-'));
  const file = (name: string) => join(folder, name);
  try {
    writeFileSync(file('key.pem'), key.secret, { mode: 0o600 });
    writeFileSync(file('message.eml'), message);
    const settings = [
      `Domain ${key.domain}`,
      `Selector ${key.selector}`,
      `KeyFile ${file('key.pem')}`,
      `Canonicalization ${form}`,
    ];
    const rest = [
      'Mode s',
      'InternalHosts 0.0.0.0/0',
      'SignatureAlgorithm rsa-sha256',
      'RequireSafeKeys no',
      `Socket local:${file('s')}`,
    ];
    writeFileSync(file('conf'), `${[...settings, ...rest].join('\n')}\n`);
    const { stdout, stderr } = spawnSync('opendkim', ['-t', file('message.eml'), '-x', file('conf'), '-vvv']);
    const value = /hname='DKIM-Signature' hvalue='([^']*)'/.exec(`${stdout}${stderr}`)?.[1];
    if (value === undefined) throw new Error(`opendkim did not sign: ${stdout}${stderr}`);
    return Buffer.concat([Buffer.from(`DKIM-Signature: ${value.replace(/\r?\n/g, '\r\n')}\r\n`), Buffer.from(message)]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
