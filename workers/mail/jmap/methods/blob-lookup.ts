/** `Blob/lookup` (RFC 9404 §4.3). Finds the messages that a blob belongs to. */
import { z } from '@hono/zod-openapi';
import { err, ok } from '../../../shared/pure/result.ts';
import { parseBlobId } from '../domain/blob-id.ts';
import { findBlobSource } from '../objects/blobs.ts';
import { accountArguments, idSchema } from '../protocol/arguments.ts';
import { OBJECTS_PER_GET_MAX } from '../protocol/limits.ts';
import { invalidArguments, method } from '../protocol/method.ts';
import { resolveId } from '../protocol/standard.ts';

export const blobLookup = method({
  capability: 'blob',
  schema: z.strictObject({ ...accountArguments, typeNames: z.array(z.string()), ids: z.array(idSchema) }),
  run: async (call, { typeNames, ids }) => {
    const unknown = typeNames.find((name) => name !== 'Email');
    if (unknown !== undefined) return err(invalidArguments(`Unknown type: ${unknown.slice(0, 100)}`));
    if (ids.length > OBJECTS_PER_GET_MAX) return err({ type: 'requestTooLarge' });
    const list: { id: string; matchedIds: Record<string, string[]> }[] = [];
    const notFound: string[] = [];
    for (const id of new Set(ids.map((each) => resolveId(call, each)))) {
      const source = await findBlobSource(call.env, call.user.userId, id);
      const blob = parseBlobId(id);
      if (!source || !blob) notFound.push(id);
      else {
        const emails = blob.kind === 'message' ? [blob.id] : [];
        list.push({ id, matchedIds: Object.fromEntries(typeNames.map((name) => [name, emails])) });
      }
    }
    return ok({ accountId: call.accountId, list, notFound });
  },
});
