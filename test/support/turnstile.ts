/** A stand-in for Cloudflare's service that verifies Turnstile tokens. It implements the documented requests and answers. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TurnstileRequest {
  readonly secret: string;
  readonly response: string;
  readonly idempotency_key: string;
}

/** Makes a token that this stand-in accepts once, like the real service. */
export interface IssuedToken {
  readonly hostname: string;
  readonly action: string;
}

export interface TurnstileStandIn extends AsyncDisposable {
  readonly url: string;
  readonly requests: TurnstileRequest[];
  readonly tokens: Map<string, IssuedToken>;
  /**
   * Behaviour of the service. `normal`; `hang` never answers; `lose` closes the first connection of each idempotency key; `fault`
   * answers `internal-error`.
   */
  mode: 'normal' | 'hang' | 'lose' | 'fault';
}

async function readJson(request: IncomingMessage): Promise<TurnstileRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}

export async function startTurnstile(secret: string): Promise<TurnstileStandIn> {
  const answers = new Map<string, object>();
  const decide = ({ secret: given, response, idempotency_key: key }: TurnstileRequest): object => {
    if (given !== secret) return { success: false, 'error-codes': ['invalid-input-secret'] };
    const known = answers.get(key);
    if (known) return known;
    const token = standIn.tokens.get(response);
    standIn.tokens.delete(response);
    const answer = token
      ? { success: true, challenge_ts: new Date().toISOString(), ...token, 'error-codes': [] }
      : { success: false, 'error-codes': ['timeout-or-duplicate'] };
    answers.set(key, answer);
    return answer;
  };
  const server = createServer(async (request, response) => {
    const body = await readJson(request);
    const isFirst = !standIn.requests.some((one) => one.idempotency_key === body.idempotency_key);
    standIn.requests.push(body);
    if (standIn.mode === 'hang') return;
    const answer = standIn.mode === 'fault' ? { success: false, 'error-codes': ['internal-error'] } : decide(body);
    if (standIn.mode === 'lose' && isFirst) {
      response.destroy();
      return;
    }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const standIn: TurnstileStandIn = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/siteverify`,
    requests: [],
    tokens: new Map(),
    mode: 'normal',
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return standIn;
}
