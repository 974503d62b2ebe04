/** A plain JMAP client for black-box tests, and a reader of event streams. */
import { expect } from 'vitest';
import type { TestServer } from '../server.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of JMAP; each test asserts the members it needs
export type Json = any;
export const USING = ['core', 'mail', 'submission', 'vacationresponse', 'blob', 'quota', 'webpush-vapid'].map(
  (name) => `urn:ietf:params:jmap:${name}`,
);

export class JmapClient {
  readonly #server: TestServer;
  readonly authorization: string;
  readonly accountId: string;

  constructor(server: TestServer, accountId: string, authorization: string) {
    this.#server = server;
    this.accountId = accountId;
    this.authorization = authorization;
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: this.authorization, ...(init.headers as Record<string, string>) };
    return fetch(`${this.#server.url}${path}`, { ...init, headers });
  }

  /** Sends the calls. Adds this account to calls without one. @returns the answers. */
  async request(...calls: [name: string, args?: Record<string, unknown>, id?: string][]): Promise<Json[]> {
    const methodCalls = calls.map(([name, args, id], at) => [
      name,
      { accountId: this.accountId, ...args },
      id ?? `c${at}`,
    ]);
    const response = await this.fetch('/v1/jmap/api', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ using: USING, methodCalls }),
    });
    const body: Json = await response.json();
    expect([response.status, body.detail]).toEqual([200, undefined]);
    return body.methodResponses;
  }

  /** Sends one call. @returns the arguments of its response, also of an error. */
  async call(name: string, args: Record<string, unknown> = {}): Promise<Json> {
    const [first] = await this.request([name, args]);
    expect([name, 'error']).toContain(first[0]);
    return first[1];
  }

  async upload(bytes: string | Uint8Array<ArrayBuffer>, type = 'application/octet-stream'): Promise<Json> {
    const path = `/v1/jmap/upload/${this.accountId}`;
    const response = await this.fetch(path, { method: 'POST', body: bytes, headers: { 'content-type': type } });
    expect(response.status).toBe(200);
    return response.json();
  }

  download(blobId: string, type = 'application/octet-stream', name = 'file'): Promise<Response> {
    return this.fetch(`/v1/jmap/download/${this.accountId}/${blobId}/${name}?type=${encodeURIComponent(type)}`);
  }

  /** Returns the ids of the mailboxes with a role, by role. */
  async roles(): Promise<Record<string, string>> {
    const { list } = await this.call('Mailbox/get');
    return Object.fromEntries(list.filter((each: Json) => each.role).map((each: Json) => [each.role, each.id]));
  }
}

export const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

/** Reads the events of an event stream, one at a time. */
export async function* readEvents(response: Response): AsyncGenerator<{ event: string; data: Json; id: string }> {
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = new Map(
        text
          .slice(0, end)
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
      );
      text = text.slice(end + 2);
      const event = fields.get('event');
      if (event !== undefined)
        yield { event, data: JSON.parse(fields.get('data') ?? '{}'), id: fields.get('id') ?? '' };
    }
  }
}
