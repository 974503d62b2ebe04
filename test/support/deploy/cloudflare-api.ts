/**
 * A local HTTP stand-in for the part of Cloudflare's API that `npm run deploy` and the real wrangler call. It keeps created
 * resources, runs the SQL of D1 in SQLite, and records every request. It also answers for the hosts of the deployment.
 * Endpoints and envelopes follow wrangler 4.155.0 and https://developers.cloudflare.com/api.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerApi } from './cloudflare-routes.ts';
import { type CloudflareState, newState } from './cloudflare-state.ts';
import type { ApiAnswer } from './cloudflare-versions.ts';

export interface CloudflareStandIn extends AsyncDisposable {
  readonly url: string;
  readonly state: CloudflareState;
  /** Received requests as `METHOD path`, in order. */
  readonly requests: string[];
  /** Bodies of the requests that set custom domains. */
  readonly domainWrites: { override_existing_origin: boolean; override_existing_dns_record: boolean }[];
  /** Called with `METHOD path` before a request is answered. */
  onRequest: (request: string) => void;
  /** Says what Time Travel does. */
  setTimeTravel(travel: TimeTravel): void;
}

export interface TimeTravel {
  /** Called before a bookmark of a database is answered. */
  onBookmark(name: string): Promise<void>;
  /** Called before the database counts as put back. */
  onRestore(name: string): Promise<void>;
}

/** A DKIM record that is longer than one string of a TXT record can be. */
export const DKIM_RECORD = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`;

export async function startCloudflare(): Promise<CloudflareStandIn> {
  const state = newState();
  const requests: string[] = [];
  const domainWrites: CloudflareStandIn['domainWrites'] = [];
  let travel: TimeTravel = { onBookmark: async () => undefined, onRestore: async () => undefined };
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    const url = new URL(request.url ?? '/', 'http://stand-in');
    const line = `${request.method} ${url.pathname}`;
    if (/ \/(?:v1\/.*)?$/.test(line)) return answerHost(state, line, request, response);
    requests.push(line);
    standIn.onRequest(line);
    if (/^PUT .*\/domains\/records$/.test(line)) domainWrites.push(JSON.parse(body));
    if (state.denied.some((pattern) => pattern.test(line)))
      return send(response, { status: 403, code: 10000, message: 'Authentication error' });
    if (line.endsWith('/graphql')) return void response.end(JSON.stringify({ data: state.usage }));
    if (line.endsWith('/analytics_engine/sql')) {
      // Analytics Engine's SQL API answers without an envelope.
      const data = body.includes(' AS version') ? state.counted : [state.mailOfMonth];
      return void response.end(JSON.stringify({ meta: [], data, rows: data.length }));
    }
    const [, database = '', act] = /\/d1\/database\/([^/]+)\/time_travel\/(\w+)$/.exec(line) ?? [];
    if (act === 'bookmark') await travel.onBookmark(nameOf(state, database));
    if (act === 'restore') await travel.onRestore(nameOf(state, database));
    const jurisdiction = String(request.headers['cf-r2-jurisdiction'] ?? '');
    const answer = answerApi(state, request.method ?? 'GET', url, body, jurisdiction);
    send(response, answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const standIn: CloudflareStandIn = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    requests,
    domainWrites,
    onRequest: () => undefined,
    setTimeTravel(by) {
      travel = by;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return standIn;
}

/**
 * Answers for the hosts of the deployment: health, and the DNS records of a mail domain. The domain gets DKIM keys when these are
 * created.
 */
function answerHost(state: CloudflareState, line: string, request: IncomingMessage, response: ServerResponse): void {
  if (state.requestsBeforeCertificate > 0) {
    state.requestsBeforeCertificate--;
    request.socket.destroy();
    return;
  }
  const domain = /\/v1\/domains\/([^/]+)/.exec(line)?.[1];
  if (domain) {
    const isAllowed =
      request.headers.authorization === `Bearer ${[...state.scripts.values()][0]?.secrets.get('ROOT_TOKEN')}`;
    const dns_records = [
      { type: 'MX', name: domain, value: null },
      { type: 'TXT', name: domain, value: 'v=spf1 include:_spf.mx.cloudflare.net ~all' },
      { type: 'TXT', name: `_dmarc.${domain}`, value: 'v=DMARC1; p=quarantine' },
      ...(line.startsWith('POST ') ? [{ type: 'TXT', name: `s1._domainkey.${domain}`, value: DKIM_RECORD }] : []),
      { type: 'SRV', name: `_imaps._tcp.${domain}`, value: '0 1 993 bridge.example.com' },
    ];
    response
      .writeHead(isAllowed ? 200 : 401, { 'content-type': 'application/json' })
      .end(JSON.stringify({ dns_records }));
    return;
  }
  const { status, body } = healthFor(state, String(request.headers['cloudflare-workers-version-overrides'] ?? ''));
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
}

const nameOf = (state: CloudflareState, uuid: string): string =>
  [...state.databases.values()].find((database) => database.uuid === uuid)?.name ?? '';

/** The health of a version that the override header names. It has no effect if the version is not in the deployment. */
function healthFor(state: CloudflareState, header: string): { status: number; body: string } {
  const [, worker = '', version = ''] = /^([\w-]+)="([^"]+)"$/.exec(header) ?? [];
  const deployed = state.scripts.get(worker)?.deployments[0]?.versions ?? [];
  if (!deployed.some(({ version_id }) => version_id === version)) return state.health;
  const own = state.healthOf.get(version);
  return own ?? { status: 200, body: JSON.stringify({ status: 'ok', version_id: version }) };
}

function send(response: ServerResponse, { status, result, code, message }: ApiAnswer): void {
  const isError = code !== undefined;
  response.writeHead(status ?? (isError ? 400 : 200), { 'content-type': 'application/json' });
  const errors = isError ? [{ code, message }] : [];
  const result_info = { page: 1, per_page: 50, count: 0, total_count: 0, total_pages: 1 };
  response.end(JSON.stringify({ success: !isError, errors, messages: [], result: result ?? null, result_info }));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}
