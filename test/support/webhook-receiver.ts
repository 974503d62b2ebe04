/** Receives webhooks on a port of this machine. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { freePort } from './server.ts';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers each message with `status`. */
export class WebhookReceiver {
  /** Accepted messages. */
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
