/**
 * Rotating MASTER_KEY: set the new key as MASTER_KEY and the old one as MASTER_KEY_PREVIOUS, deploy, call this until
 * nothing remains, then drop the old key. Both keys open what is sealed in the meantime, so nothing stops working.
 */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { type JsonApiEnv, jsonContent, problemResponses } from '../shared/json-api.ts';
import { COMMON } from './iam/route.ts';
import { isSealedByCurrentKey, openSecret, sealSecret } from './secrets.ts';
import { createIdentityStore } from './store.ts';

/** Whoever keeps sealed secrets: identity its access keys, mail its DKIM keys. */
export interface SecretKeeper {
  /** What they are, in a word. */
  readonly name: string;
  /** Sealed secrets in order of their key, after `after`. */
  list(env: Env, after: string, limit: number): Promise<{ key: string; context: string; sealed: string }[]>;
  /** Replaces a sealed text if it is still the one that was listed. */
  replace(env: Env, key: string, before: string, after: string): Promise<void>;
}

export const accessKeySecrets: SecretKeeper = {
  name: 'access_keys',
  async list(env, after, limit) {
    const rows = await createIdentityStore(env.DIRECTORY).listSealedSecrets(after, limit);
    return rows.map((row) => ({
      key: row.accessKeyId,
      context: `access-key:${row.accessKeyId}`,
      sealed: row.secretSealed,
    }));
  },
  replace: (env, key, before, after) => createIdentityStore(env.DIRECTORY).replaceSealedSecret(key, before, after),
};

const PAGE = 100;
/** Each secret is one row written; this keeps a call well within a Worker's limits. Call again for the rest. */
const SECRETS_PER_CALL_MAX = 5_000;

const reportSchema = z
  .object({
    kind: z.string(),
    /** Already sealed by the present key. */
    current: z.int(),
    resealed: z.int(),
    /** Opened by neither key, or corrupt: these credentials do not work. */
    unreadable: z.array(z.string()),
    /** Whether this call looked at all of them. */
    complete: z.boolean(),
  })
  .openapi('ResealReport');

async function reseal(keeper: SecretKeeper, env: Env): Promise<z.infer<typeof reportSchema>> {
  const report = { kind: keeper.name, current: 0, resealed: 0, unreadable: [] as string[], complete: false };
  let after = '';
  while (report.resealed < SECRETS_PER_CALL_MAX) {
    const rows = await keeper.list(env, after, PAGE);
    for (const row of rows) {
      if (isSealedByCurrentKey(row.sealed, env)) {
        report.current++;
        continue;
      }
      const opened = openSecret(row.sealed, row.context, env);
      if (!opened.ok) {
        report.unreadable.push(row.key);
        continue;
      }
      await keeper.replace(env, row.key, row.sealed, sealSecret(opened.value, row.context, env));
      report.resealed++;
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return { ...report, complete: true };
    after = last.key;
  }
  return report;
}

export function addMasterKey(api: OpenAPIHono<JsonApiEnv>, keepers: readonly SecretKeeper[]): void {
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'post',
      path: '/v1/iam/reseal',
      operationId: 'resealSecrets',
      summary: 'Seal every secret at rest with the present MASTER_KEY',
      responses: {
        200: jsonContent(z.object({ data: z.array(reportSchema) }), 'What was found and done, by kind'),
        ...problemResponses(401, 403),
      },
    }),
    async (c) => {
      const data = [];
      for (const keeper of keepers) data.push(await reseal(keeper, c.env));
      return c.json({ data }, 200);
    },
  );
}
