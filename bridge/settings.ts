/** The environment variables `BRIDGE_*`. */
import { readFileSync } from 'node:fs';
import { isLoopback } from './session/pipe.ts';
import type { BridgeOptions } from './start-bridge.ts';

/** @throws an error with a sentence for the person who started the bridge. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): BridgeOptions {
  const read = (name: string): string => environment[name]?.trim() ?? '';
  const server = readServer(read('BRIDGE_SERVER'));
  const certificate = readCertificate(read('BRIDGE_CERT'), read('BRIDGE_KEY'));
  const isPlain = read('BRIDGE_ALLOW_PLAINTEXT') === '1';
  if (!certificate && !isPlain)
    throw new Error(
      'Set BRIDGE_CERT and BRIDGE_KEY to PEM files, or BRIDGE_ALLOW_PLAINTEXT=1 to serve this machine only, without TLS.',
    );
  const host = read('BRIDGE_HOST') || (certificate ? '::' : '127.0.0.1');
  if (!certificate && !isLoopback(host))
    throw new Error('Without a certificate, BRIDGE_HOST must be 127.0.0.1 or ::1.');
  const readPort = (name: string, fallback: number): number => {
    const port = read(name) === '' ? fallback : Number(read(name));
    if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`${name} must be a TCP port.`);
    return port;
  };
  const readLimit = (name: string): number | undefined => {
    if (read(name) === '') return undefined;
    if (!/^[1-9]\d{0,5}$/.test(read(name))) throw new Error(`${name} must be a number of connections.`);
    return Number(read(name));
  };
  const connectionsPerAddressMax = readLimit('BRIDGE_CONNECTIONS_PER_ADDRESS');
  const connectionsPerTokenMax = readLimit('BRIDGE_CONNECTIONS_PER_TOKEN');
  const bridgeToken = read('BRIDGE_TOKEN');
  return {
    ...(connectionsPerAddressMax ? { connectionsPerAddressMax } : {}),
    ...(connectionsPerTokenMax ? { connectionsPerTokenMax } : {}),
    server,
    host,
    certificate,
    ...(bridgeToken === '' ? {} : { bridgeToken }),
    ports: {
      imap: readPort('BRIDGE_IMAP_PORT', certificate ? 143 : 1143),
      smtp: readPort('BRIDGE_SMTP_PORT', certificate ? 587 : 1587),
      ...(certificate ? { imaps: readPort('BRIDGE_IMAPS_PORT', 993), smtps: readPort('BRIDGE_SMTPS_PORT', 465) } : {}),
    },
  };
}

function readServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Error('Set BRIDGE_SERVER to the address of the web app, such as https://mail.example.com.');
  const isLocal = url.hostname === 'localhost' || isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
  if (url.protocol === 'http:' && !isLocal) throw new Error('BRIDGE_SERVER must begin with https://.');
  return url.origin;
}

function readCertificate(cert: string, key: string): BridgeOptions['certificate'] {
  if (cert === '' && key === '') return null;
  if (cert === '' || key === '') throw new Error('Set both BRIDGE_CERT and BRIDGE_KEY.');
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}
