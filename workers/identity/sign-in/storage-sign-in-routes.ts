/** `/v1/auth/oidc/storage`: temporary keys of storage for people whose groups have a right there (`OIDC_STORAGE_KEYS`). */
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { readPairs } from '../../shared/settings/settings-schema-sign-in.ts';
import { findRight } from '../domain/provider-claims.ts';
import { makeTemporaryKey, temporaryKeySchema } from '../users/temporary-key-requests.ts';
import { takeProofOf } from './cookies.ts';

const NO_RIGHT = problem(403, 'no_role', 'The provider names no group with rights on storage for this account.');
const MINUTES = 60;

export function addStorageSignIn(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      tags: ['identity'],
      security: [],
      method: 'post',
      path: '/v1/auth/oidc/storage',
      operationId: 'createKeyWithProvider',
      summary: 'Make a temporary key of storage for an hour, after a sign-in for `storage`',
      responses: {
        200: jsonContent(temporaryKeySchema, 'The temporary key'),
        ...problemResponses(401, 403, 404, 503),
      },
    }),
    async (c) => {
      const proof = await takeProofOf(c, 'storage');
      if (!proof.ok) return sendProblem(c, proof.error);
      const accessKeyId = findRight(proof.value.groups, readPairs(settingsOf(c.env).OIDC_STORAGE_KEYS));
      if (accessKeyId === null) return sendProblem(c, NO_RIGHT);
      const key = await makeTemporaryKey(
        c.env,
        { accessKeyId, userId: null },
        { minutes: MINUTES },
        createClock(c.env)(),
      );
      return key.ok ? c.json(key.value, 200) : sendProblem(c, key.error);
    },
  );
}
