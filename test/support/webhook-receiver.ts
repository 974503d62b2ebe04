/** Receives webhooks on a port of this machine. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { S3Event, S3EventRecord } from 'aws-lambda';
import { expect } from 'vitest';
import { freePort } from './server.ts';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Receives webhooks and answers each message with `status`. */
export class WebhookReceiver {
  /** Messages that were accepted (`status` was 200). */
  readonly received: Received[] = [];
  readonly refused: Received[] = [];
  status = 200;
  readonly url: string;
  readonly #server: Server;

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}/hook`;
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const message = { headers: request.headers, body: Buffer.concat(chunks).toString() };
        (this.status === 200 ? this.received : this.refused).push(message);
        response.writeHead(this.status).end();
      });
    });
  }

  static async start(): Promise<WebhookReceiver> {
    const port = await freePort();
    const receiver = new WebhookReceiver(port);
    await new Promise<void>((resolve) => receiver.#server.listen(port, '127.0.0.1', resolve));
    return receiver;
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

/** Returns the records of storage events, each once, in the order of their first arrival. */
export function recordsOf({ received }: WebhookReceiver): S3EventRecord[] {
  const seen = new Map<string, S3EventRecord>();
  for (const { body } of received) {
    for (const record of (JSON.parse(body) as S3Event).Records) {
      const id = `${record.s3.object.key} ${record.s3.object.sequencer}`;
      if (!seen.has(id)) seen.set(id, record);
    }
  }
  return [...seen.values()];
}

/** Expects the events of each key to arrive in ascending order, at their first arrival. */
export function expectOrdered(records: readonly S3EventRecord[]): void {
  const byKey = new Map<string, string[]>();
  for (const { s3 } of records) byKey.set(s3.object.key, [...(byKey.get(s3.object.key) ?? []), s3.object.sequencer]);
  for (const sequence of byKey.values()) expect(sequence).toEqual([...sequence].sort());
}
