/** `PushSubscription/get` (RFC 8620 §7.2.1). The answer never contains the URL and the keys. */

import { z } from '@hono/zod-openapi';
import type { PushSubscription } from '../../../../durable-objects/mail/contract/push.ts';

import { err, ok } from '../../../shared/pure/result.ts';
import { toUtcDate } from '../objects/email.ts';
import { getArguments } from '../protocol/arguments.ts';
import { type Arguments, method, toMethodError } from '../protocol/method.ts';
import { findGetError, pick, resolveId } from '../protocol/standard.ts';

const SECRET = ['url', 'keys'];
const KNOWN = ['id', 'deviceClientId', 'verificationCode', 'expires', 'types', ...SECRET];

export const pushSubscriptionGet = method({
  capability: 'core',
  schema: z.strictObject({ ids: getArguments.ids, properties: getArguments.properties }),
  run: async (call, args) => {
    const refusal = findGetError(args, (name) => KNOWN.includes(name));
    if (refusal) return err(refusal);
    if (args.properties?.some((name) => SECRET.includes(name))) return err({ type: 'forbidden' });
    const read = await call.ask((mailbox) => mailbox.listPushSubscriptions(call.user.credentialId));
    if (!read.ok) return err(toMethodError(read.error));
    const byId = new Map(read.value.map((subscription) => [subscription.id, toJson(subscription)]));
    const ids = [...new Set((args.ids ?? [...byId.keys()]).map((id) => resolveId(call, id)))];
    return ok({
      list: ids
        .flatMap((id) => byId.get(id) ?? [])
        .map((subscription) => pick(subscription as Arguments, args.properties)),
      notFound: ids.filter((id) => !byId.has(id)),
    });
  },
});

const toJson = ({
  id,
  deviceClientId,
  verificationCode,
  expiresAt,
  types,
}: PushSubscription): Record<string, unknown> => ({
  id,
  deviceClientId,
  verificationCode,
  expires: toUtcDate(expiresAt),
  types,
});
