import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { BlobHasher, BodyHasher } from '../../../workers/storage/engine/blobs/digests.ts';

it.each([1, 262_143, 262_144, 262_145, 3_000_000])(
  'reuses the digests of the blob for a body of %i bytes in one blob',
  (size) => {
    const bytes = randomBytes(size);
    const body = new BodyHasher(['CRC32', 'SHA256'], true);
    const blob = new BlobHasher();
    for (let at = 0; at < size; at += 100_000) {
      body.update(bytes.subarray(at, at + 100_000));
      blob.update(bytes.subarray(at, at + 100_000));
    }
    const digests = body.digest(blob.digest());
    const crc = Buffer.alloc(4);
    crc.writeUInt32BE(crc32(bytes));
    expect([digests.crc32Value, digests.checksums.CRC32]).toEqual([crc32(bytes), crc.toString('base64')]);
    expect([digests.md5, digests.checksums.SHA256]).toEqual([
      createHash('md5').update(bytes).digest('hex'),
      createHash('sha256').update(bytes).digest('base64'),
    ]);
    const separate = new BodyHasher([], false);
    separate.update(bytes);
    expect(separate.digest().crc32).toBe(digests.crc32);
  },
);
