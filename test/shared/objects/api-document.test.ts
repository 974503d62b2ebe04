/** Checks the examples of the API document against the schemas that validate requests. */
import { createExecutionContext, env } from 'cloudflare:test';
import { z } from '@hono/zod-openapi';
import { expect, it } from 'vitest';
import { createIdentityApi } from '../../../workers/identity/iam/index.ts';
import { createAuditApi } from '../../../workers/identity/operators/audit-routes.ts';
import { createOperatorApi } from '../../../workers/identity/operators/operator-routes.ts';
import worker from '../../../workers/index.ts';
import { createApi as createLeaderboardApi } from '../../../workers/leaderboard/api.ts';
import { mailApi } from '../../../workers/mail/api.ts';
import { createApi as createStorageApi } from '../../../workers/storage/api.ts';

type Content = Record<string, { example?: unknown }>;
interface Operation {
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content }>;
}

const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'application/problem+json';

async function readDocument(): Promise<{ paths: Record<string, Record<string, Operation>> }> {
  const request = new Request('http://localhost/v1/openapi.json');
  return (
    await worker.fetch(request as Request<unknown, IncomingRequestCfProperties>, env, createExecutionContext())
  ).json();
}

it('gives each operation an example of the request, of each response and of an error, which its schemas accept', async () => {
  const { paths } = await readDocument();
  const wrong: string[] = [];
  let checked = 0;
  const check = (where: string, content: object | undefined, example: unknown) => {
    const { schema } = (content?.[JSON_TYPE as keyof typeof content] ?? {}) as { schema?: unknown };
    if (!(schema instanceof z.ZodType)) return;
    checked++;
    const parsed = schema.safeParse(example);
    if (!parsed.success) wrong.push(`${where}: ${JSON.stringify(example)} ${parsed.error.message}`);
  };
  for (const api of [
    createIdentityApi([]),
    createOperatorApi(),
    createAuditApi(),
    createLeaderboardApi(),
    mailApi,
    createStorageApi(),
  ]) {
    for (const definition of api.openAPIRegistry.definitions) {
      if (definition.type !== 'route') continue;
      const { method, path, request, responses } = definition.route;
      const where = `${method} ${path}`;
      const operation = paths[path]?.[method];
      if (operation === undefined) throw new Error(`${where} is not in the document`);
      check(where, request?.body?.content, operation.requestBody?.content[JSON_TYPE]?.example);
      for (const [status, response] of Object.entries(responses)) {
        if (!('content' in response) || response.content === undefined) continue;
        const { example } = operation.responses[status]?.content?.[JSON_TYPE] ?? {};
        check(`${where} ${status}`, response.content, example);
      }
      // An error of another protocol has a schema of its own, which was checked above.
      if (operation.responses[400]?.content?.[JSON_TYPE]) continue;
      const problem = operation.responses[400]?.content?.[PROBLEM_TYPE]?.example;
      if (JSON.stringify(problem)?.includes('"code":"invalid_request"') !== true) wrong.push(`${where} has no error`);
    }
  }
  expect(wrong).toEqual([]);
  expect(checked).toBeGreaterThan(100);
});
