/**
 * SQL that checks, in a delete by a lifecycle rule or a job, that the version still matches the facts on which the delete is based.
 * It may have been replaced, tagged or deleted since it was read.
 */
import { NEWER_VERSIONS_MAX } from '../../domain/lifecycle.ts';
import { newestOrderAt, toVersionOrder } from '../../domain/version-order.ts';
import type { DueVersion } from '../model/contract.ts';

/** Converts a `DueVersion` to the JSON that an item of a batch of deletes has as `d`. */
export const toDueItem = ({ versionId, kind, tags, since, newerVersions }: DueVersion) => ({
  o: toVersionOrder(versionId),
  k: kind,
  t: tags ?? null,
  q: since === undefined ? null : newestOrderAt(since),
  c: newerVersions ?? 0,
});

const others = (test: string): string =>
  `SELECT x.ord FROM version x WHERE x.bucket = s.bucket AND x.name = s.name AND x.ord ${test}`;

/** SQL that selects the items `a` of a batch whose version is no longer due. @param bucketN SQL of the bucket's number. */
export const isNotDue = (bucketN: string): string => `a.value->'d' IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM version s WHERE s.bucket = ${bucketN} AND s.name = unhex(a.value->>'n') AND s.ord = unhex(a.value->'d'->>'o')
    AND (a.value->'d'->>'t' IS NULL OR s.tags = a.value->'d'->>'t')
    AND CASE a.value->'d'->>'k'
      WHEN 'current' THEN s.is_marker = 0 AND NOT EXISTS (${others('< s.ord')})
      WHEN 'alone' THEN s.is_marker = 1 AND NOT EXISTS (${others('<> s.ord')})
      ELSE (${others('< s.ord')} ORDER BY x.ord DESC LIMIT 1) >= unhex(a.value->'d'->>'q') AND (SELECT count(*) FROM (
        ${others('< s.ord')} AND x.is_marker = 0 AND x.ord > (${others('<= s.ord')} ORDER BY x.ord LIMIT 1)
        LIMIT ${NEWER_VERSIONS_MAX})) >= a.value->'d'->>'c' END)`;
