/**
 * Measures the throughput of object storage against the floor. The floor makes the same three queries for a GET (key, bucket,
 * version) in one parallel step, then reads R2. For a PUT it makes the same queries (key and bucket), writes the bytes to both
 * locations and commits one batch. It checks no signature, hashes no byte and applies no rule. Requests to Tessera are signed
 * with SigV4 and use different object names in turn. Large reads are also compared with a floor that checks bytes before it
 * forwards them, as Tessera does; the plain floor pipes R2's stream straight to the socket.
 */
import { createHash } from 'node:crypto';
import type { LocalServer } from '../../dev/local/local-server.ts';
import {
  deriveSigningKey,
  hmacSha256Hex,
  toCanonicalRequests,
  toStringToSign,
} from '../../workers/identity/domain/sigv4.ts';
import { toAmzDate } from '../../workers/identity/domain/sigv4-credentials.ts';
import { compare, type Load } from '../shared/load.ts';
import { BENCH_ROOT_TOKEN, type BenchServer, startPair } from '../shared/servers.ts';

interface Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const BUCKET = 'bench';
/** Number of object names that the requests of one load use in turn. With several names, uploads do not wait for each other. */
const NAMES = 64;

interface Case {
  readonly label: string;
  readonly bytes: number;
  readonly connections: number;
  readonly seconds: number;
  readonly names: number;
  readonly target?: number;
}

const CASES: readonly Case[] = [
  { label: '4 KiB', bytes: 4 * 1024, connections: 16, seconds: 3, names: NAMES, target: 0.75 },
  { label: '1 MiB', bytes: 1024 ** 2, connections: 8, seconds: 4, names: 16 },
  { label: '32 MiB', bytes: 32 * 1024 ** 2, connections: 2, seconds: 8, names: 4, target: 0.9 },
];

export async function run(options: readonly string[]): Promise<void> {
  const rounds = Number(options.find((option) => /^--rounds=\d+$/.test(option))?.slice('--rounds='.length) ?? 5);
  const only = options.find((option) => option.startsWith('--only='))?.slice('--only='.length);
  const { ours, floor, stop } = await startPair();
  try {
    const key = await createKey(ours);
    await put(ours, key, `/${BUCKET}`, '');
    await fetch(`${floor.url}/storage/setup`, { method: 'POST' });
    for (const item of CASES.filter(({ label }) => only === undefined || label.startsWith(only))) {
      await benchCase(item, ours, floor, key, rounds);
    }
  } finally {
    await stop();
  }
}

async function benchCase(item: Case, ours: BenchServer, floor: BenchServer, key: Key, rounds: number): Promise<void> {
  const { label, bytes, connections, seconds, names, target } = item;
  const size = bytes <= 16 * 1024 ? 'small' : 'large';
  const paths = Array.from({ length: names }, (_, i) => `/${BUCKET}/${bytes}/${i}`);
  const floorPaths = paths.map((_, i) => `/storage/${size}/${bytes}/${i}`);
  const shape = { connections, seconds };
  const load = (server: LocalServer, method: 'GET' | 'PUT', on: readonly string[], signed: boolean): Load => ({
    ...shape,
    url: server.url,
    script: toScript(server, method, on, method === 'PUT' ? bytes : 0, signed ? key : null),
  });
  // Creates every object of a load before the first round.
  const content = 'x'.repeat(bytes);
  for (const path of paths) await put(ours, key, path, content);
  for (const path of floorPaths) await fetch(floor.url + path, { method: 'PUT', body: content });
  for (const method of ['GET', 'PUT'] as const) {
    const before = { ours: ours.residentBytes(), floor: floor.residentBytes() };
    await compare({
      name: `${method} ${label}`,
      floor: load(floor, method, floorPaths, false),
      ours: load(ours, method, paths, true),
      rounds,
      ...(target === undefined ? {} : { target }),
    });
    if (method === 'GET' && size === 'large') {
      const checked = floorPaths.map((path) => `${path}?checked`);
      await compare({
        name: `GET ${label}, floor with checks`,
        floor: load(floor, method, checked, false),
        ours: load(ours, method, paths, true),
        rounds,
      });
    }
    const shown = (from: number, to: number) => `${(from / 1024 ** 2).toFixed(0)} → ${(to / 1024 ** 2).toFixed(0)} MiB`;
    console.log(
      `${''.padEnd(36)} resident: ours ${shown(before.ours, ours.residentBytes())}, floor ${shown(before.floor, floor.residentBytes())}`,
    );
  }
}

/** Lua script for wrk that cycles through requests signed in advance. */
function toScript(
  server: LocalServer,
  method: 'GET' | 'PUT',
  paths: readonly string[],
  bytes: number,
  key: Key | null,
): string {
  const { host } = new URL(server.url);
  const sha256 = createHash('sha256').update(Buffer.alloc(bytes, 'x')).digest('hex');
  const entries = paths.map((path) => {
    const headers: Record<string, string> = key ? sign(method, path, host, sha256, key) : {};
    // Leave out Host: wrk adds it itself, and a second Host would break the signature.
    const others = Object.entries(headers).filter(([name]) => name !== 'host');
    const lua = others.map(([name, value]) => `["${name}"]=${JSON.stringify(value)}`);
    return `{path=${JSON.stringify(path)},headers={${lua.join(',')}}}`;
  });
  return `
local body = ${bytes === 0 ? 'nil' : `string.rep("x", ${bytes})`}
local requests = {${entries.join(',')}}
local formatted, at = {}, 0
init = function(args)
  for i, r in ipairs(requests) do formatted[i] = wrk.format("${method}", r.path, r.headers, body) end
end
request = function()
  at = at % #formatted + 1
  return formatted[at]
end
`;
}

function sign(method: string, rawPath: string, host: string, sha256: string, key: Key): Record<string, string> {
  const amzDate = toAmzDate(Date.now());
  const scope = { accessKeyId: key.accessKeyId, date: amzDate.slice(0, 8), region: 'us-east-1', service: 's3' };
  const headers = { host, 'x-amz-content-sha256': sha256, 'x-amz-date': amzDate };
  const names = Object.keys(headers);
  const signed = { method, rawPath, rawQuery: '', headers: new Headers(headers) };
  const [canonical = ''] = toCanonicalRequests(signed, names, sha256);
  const signature = hmacSha256Hex(
    deriveSigningKey(key.secretAccessKey, scope),
    toStringToSign(amzDate, scope, canonical),
  );
  const credential = `${key.accessKeyId}/${scope.date}/us-east-1/s3/aws4_request`;
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

async function createKey(server: LocalServer): Promise<Key> {
  const call = async (path: string, body: object) => {
    const answer = await fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${BENCH_ROOT_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as Record<string, string>;
  };
  const user = await call('/v1/iam/users', { name: 'bench' });
  const key = await call(`/v1/iam/users/${user.user_id}/access-keys`, {});
  return { accessKeyId: key.access_key_id ?? '', secretAccessKey: key.secret_access_key ?? '' };
}

async function put(server: LocalServer, key: Key, path: string, body: string): Promise<void> {
  const { host } = new URL(server.url);
  const sha256 = createHash('sha256').update(body).digest('hex');
  const { host: _, ...headers } = sign('PUT', path, host, sha256, key);
  const answer = await fetch(server.url + path, { method: 'PUT', headers, body });
  if (!answer.ok) throw new Error(`PUT ${path}: ${answer.status} ${await answer.text()}`);
}
