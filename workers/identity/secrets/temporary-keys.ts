/**
 * Temporary keys: an access key id, a secret and a session token that work until a time, within a session policy, and only as long as
 * the access key from which they were made (the parent). Nothing is stored: the session token is sealed with MASTER_KEY and contains
 * all of it, so a temporary key ends with MASTER_KEY too.
 */
import { z } from 'zod';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import type { PolicyDocument } from '../principal.ts';
import { mintSecretAccessKey, mintTemporaryKeyId } from './credentials.ts';
import { type MasterKeys, openSecret, sealSecret } from './secrets.ts';

/** Longest and shortest life of a temporary key, in seconds. */
export const TEMPORARY_SECONDS_MAX = 12 * 3_600;
export const TEMPORARY_SECONDS_MIN = 60;

export interface TemporaryKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  /** Milliseconds since 1970 UTC. */
  readonly expiresAt: number;
}

/** The parts of a temporary key that its session token contains. */
export interface TemporaryGrant {
  readonly parentKeyId: string;
  readonly secretAccessKey: string;
  /** Milliseconds since 1970 UTC. */
  readonly madeAt: number;
  readonly expiresAt: number;
  /** Null for all rights of the parent. */
  readonly policy: PolicyDocument | null;
}

/** Members are single letters, because the token stands in every request and link. */
const contentSchema = z.object({
  k: z.string(),
  s: z.string(),
  m: z.number(),
  e: z.number(),
  p: z.record(z.string(), z.unknown()).nullable(),
});

const contextOf = (accessKeyId: string): string => `temporary-key:${accessKeyId}`;

/** Makes a temporary key of an access key. The caller has checked that the parent exists and that the policy is valid. */
export function mintTemporaryKey(
  { parentKeyId, madeAt, expiresAt, policy }: Omit<TemporaryGrant, 'secretAccessKey'>,
  keys: MasterKeys,
): TemporaryKey {
  const accessKeyId = mintTemporaryKeyId();
  const secretAccessKey = mintSecretAccessKey();
  const content: z.infer<typeof contentSchema> = {
    k: parentKeyId,
    s: secretAccessKey,
    m: madeAt,
    e: expiresAt,
    p: policy === null ? null : { ...policy },
  };
  const sessionToken = sealSecret(JSON.stringify(content), contextOf(accessKeyId), keys);
  return { accessKeyId, secretAccessKey, sessionToken, expiresAt };
}

/** Opens a session token. @returns `invalid` if it is not one of this key. */
export function openTemporaryKey(
  accessKeyId: string,
  sessionToken: string,
  keys: MasterKeys,
): Result<TemporaryGrant, 'invalid'> {
  const opened = openSecret(sessionToken, contextOf(accessKeyId), keys);
  if (!opened.ok) return err('invalid');
  const { k, s, m, e, p } = contentSchema.parse(JSON.parse(opened.value));
  return ok({ parentKeyId: k, secretAccessKey: s, madeAt: m, expiresAt: e, policy: p });
}
