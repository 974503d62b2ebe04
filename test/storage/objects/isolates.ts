/** Isolates of the Worker: each knows nothing of what another one has found out. */
import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import worker from '../../../workers/index.ts';

const bindings = env as unknown as Record<string, unknown>;

/** A new isolate with one shard of objects, as the Worker gets it. */
export const makeIsolate = (): Env => {
  const { OBJECTS_1: _1, OBJECTS_2: _2, ...rest } = bindings;
  return { ...rest, STORAGE_TASKS: undefined } as unknown as Env;
};

export const ROOT = 'root-of-tests';

/** Sends a request to an isolate. @returns the status and the JSON of the answer, or its text. */
export async function call(
  isolate: Env,
  method: string,
  path: string,
  { body, token = ROOT }: { readonly body?: unknown; readonly token?: string | null } = {},
  // biome-ignore lint/suspicious/noExplicitAny: the answer of any route; each test asserts the members it needs
): Promise<{ status: number; body: any }> {
  const request = new Request(`http://example.test${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }) as Parameters<typeof worker.fetch>[0];
  const ctx = createExecutionContext();
  const answer = await worker.fetch(request, isolate, ctx);
  const text = await answer.text();
  await waitOnExecutionContext(ctx);
  const isJson = answer.headers.get('content-type')?.includes('json');
  return { status: answer.status, body: isJson ? JSON.parse(text) : text };
}
