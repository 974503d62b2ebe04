/**
 * `npm run rotate:master-key -- URL`: seals every stored secret with the present MASTER_KEY. Run it after a deployment with the new
 * key as MASTER_KEY and the old one as MASTER_KEY_PREVIOUS (docs/operations.md). ROOT_TOKEN comes from the environment.
 *
 * It can be interrupted and repeated at any time, because both keys open secrets until the old one is removed. Exit status: 0 if
 * the old key is no longer needed, 1 if it still is, 2 for wrong arguments.
 */
import { z } from 'zod';

const reportSchema = z.object({
  data: z.array(
    z.object({
      kind: z.string(),
      current: z.number(),
      resealed: z.number(),
      unreadable: z.array(z.string()),
      complete: z.boolean(),
    }),
  ),
});

const [url] = process.argv.slice(2);
const token = process.env.ROOT_TOKEN;
if (url === undefined || !URL.canParse(url) || !token) {
  console.error('Usage: ROOT_TOKEN=… npm run rotate:master-key -- https://app.example.com');
  process.exit(2);
}
const endpoint = new URL('/v1/iam/reseal', url);

/** Calls the API once, which seals up to 5,000 secrets of each kind again. */
async function reseal(): Promise<z.infer<typeof reportSchema>['data']> {
  const response = await fetch(endpoint, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`${endpoint} answered ${response.status}: ${await response.text()}`);
  return reportSchema.parse(await response.json()).data;
}

try {
  for (;;) {
    const kinds = await reseal();
    for (const { kind, current, resealed, unreadable } of kinds)
      console.log(`${kind}: ${resealed} sealed now, ${current} before, ${unreadable.length} unreadable`);
    // If the call resealed a secret, call again, because a secret may have changed while the secrets were listed.
    if (!kinds.every(({ complete, resealed }) => complete && resealed === 0)) continue;
    const unreadable = kinds.flatMap(({ kind, unreadable: keys }) => keys.map((key) => `${kind} ${key}`));
    if (unreadable.length > 0) {
      console.error(`Neither key opens these secrets:\n${unreadable.join('\n')}`);
      console.error(
        'Is MASTER_KEY_PREVIOUS the key before this one? If so, replace these secrets: docs/operations.md.',
      );
      process.exit(1);
    }
    console.log('Every secret is sealed with MASTER_KEY. MASTER_KEY_PREVIOUS can be removed in two days.');
    break;
  }
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\nRun the command again: it continues.`);
  process.exit(1);
}
