/**
 * Copies of which the source or the target has a customer-provided key. Their bytes are read, decrypted, encrypted and written: a
 * copy by reference would keep the old key.
 */
import { ok } from '../../../shared/pure/result.ts';
import type { ChecksumAlgorithm } from '../../domain/checksums.ts';
import type { CustomerKey } from '../../domain/customer-key.ts';
import type { S3Failure } from '../../domain/failure.ts';
import type {
  ByteRange,
  Checksums,
  CopyPartRequest,
  CopyRequest,
  Engine,
  PartFacts,
  Proven,
  VersionFacts,
} from '../../engine/model/contract.ts';
import type { UploadBody } from '../bodies/upload-body.ts';
import { toFailure } from '../protocol/engine-failures.ts';
import { sealBody, sealPart, withKeyRecord } from './customer-keys.ts';
import { readContent } from './object-content.ts';

export interface CopyKeys {
  readonly source: CustomerKey | null;
  readonly target: CustomerKey | null;
}

export const isEncryptedCopy = ({ source, target }: CopyKeys): boolean => source !== null || target !== null;

/** Opens the plaintext of a source as the body of an upload that computes checksums and compares nothing. */
async function openSource(
  engine: Engine,
  { source: version, range = { start: 0, end: version.size - 1 } }: Pick<CopyPartRequest, 'source' | 'range'>,
  key: CustomerKey | null,
  algorithms: readonly ChecksumAlgorithm[],
) {
  const content = await readContent(engine, version, range, key);
  if (!content.ok) return content;
  const body: UploadBody = {
    body: content.value,
    size: sizeOf(range),
    checksums: algorithms,
    verify: ({ checksums }) => ok(algorithms.length === 0 ? {} : { checksums: pick(checksums, algorithms) }),
  };
  return ok(body);
}

const sizeOf = ({ start, end }: ByteRange): number => end - start + 1;

const pick = (checksums: Checksums, algorithms: readonly ChecksumAlgorithm[]): Checksums =>
  Object.fromEntries(algorithms.map((algorithm) => [algorithm, checksums[algorithm] ?? '']));

/** Like `copyObject` of the engine. */
export async function copyEncrypted(
  engine: Engine,
  { source, checksum, ...target }: CopyRequest,
  keys: CopyKeys,
): Promise<Proven<VersionFacts, S3Failure>> {
  const own = Object.keys(source.checksums) as ChecksumAlgorithm[];
  const algorithms = checksum === undefined || own.includes(checksum) ? own : [checksum];
  const body = await openSource(engine, { source }, keys.source, algorithms);
  if (!body.ok) return toFailure(body);
  const sealed = await sealBody(body.value, keys.target);
  const put = await engine.putObject<S3Failure>({
    ...withKeyRecord(target, sealed.record),
    ...sealed.body,
    event: 'ObjectCreated:Copy',
  });
  return put.ok ? put : toCopyFailure(put);
}

/** Like `copyPart` of the engine. */
export async function copyEncryptedPart(
  engine: Engine,
  { source, range, checksum, ...target }: CopyPartRequest,
  keys: CopyKeys,
): Promise<Proven<PartFacts, S3Failure>> {
  const opened = range === undefined ? { source } : { source, range };
  const body = await openSource(engine, opened, keys.source, checksum ? [checksum] : []);
  if (!body.ok) return toFailure(body);
  const put = await engine.putPart<S3Failure>({ ...target, ...(await sealPart(body.value, keys.target)) });
  return put.ok ? put : toCopyFailure(put);
}

/** A body that ends early is a source that could not be read to its end. */
const toCopyFailure = (failed: Parameters<typeof toFailure>[0]) =>
  failed.error.kind === 'body_failed' || failed.error.kind === 'body_incomplete'
    ? toFailure({ error: { kind: 'data_lost' } })
    : toFailure(failed);
