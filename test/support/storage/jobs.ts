/** Calls `/v1/storage/jobs` as the web app does: signed with an access key. */
import { createHash } from 'node:crypto';
import { until } from '../mail/mail.ts';
import type { TestServer } from '../server.ts';
import type { Credentials } from './s3-client.ts';
import { signRequest } from './sigv4-signer.ts';

// biome-ignore lint/suspicious/noExplicitAny: responses of the API; each test asserts the members it needs
type Json = any;

export interface JobAnswer {
  readonly status: number;
  readonly body: Json;
}

export interface JobClient {
  call(method: string, path?: string, body?: unknown): Promise<JobAnswer>;
  /** Starts a job and waits until it ends. */
  run(body: unknown): Promise<Json>;
  /** Waits until a job ends. */
  end(jobId: string): Promise<Json>;
}

/**
 * Makes a client of the job API.
 * @param key of the user; null calls as the operator. @param more headers of each request that the signature does not cover.
 */
export function createJobClient(
  server: TestServer,
  key: Credentials | null,
  more: Readonly<Record<string, string>> = {},
): JobClient {
  const call = async (method: string, path = '', body?: unknown): Promise<JobAnswer> => {
    const target = `/v1/storage/jobs${path}`;
    if (key === null) return server.call(method, target, body);
    const text = body === undefined ? '' : JSON.stringify(body);
    const sha256 = createHash('sha256').update(text).digest('hex');
    const signed = signRequest({
      url: server.url,
      credentials: key,
      method,
      path: target,
      headers: {
        'content-type': 'application/json',
        'x-amz-content-sha256': sha256,
        ...(key.sessionToken === undefined ? {} : { 'x-amz-security-token': key.sessionToken }),
      },
    });
    const { host: _, ...headers } = signed.headers;
    const response = await fetch(server.url + target, {
      method,
      headers: { ...headers, ...more },
      ...(text === '' ? {} : { body: text }),
    });
    return { status: response.status, body: await response.json() };
  };
  const end = (jobId: string) =>
    until(
      'the end of the job',
      async () => {
        const { body } = await call('GET', `/${jobId}`);
        return body.ended_at === null ? undefined : body;
      },
      180_000,
    );
  return {
    call,
    end,
    async run(body) {
      const started = await call('POST', '', body);
      if (started.status !== 202) throw new Error(`the job was not accepted: ${JSON.stringify(started)}`);
      return end(started.body.job_id);
    },
  };
}
