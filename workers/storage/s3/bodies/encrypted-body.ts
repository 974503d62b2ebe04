/** Encrypts the body of an upload with a customer-provided key while it streams. The engine stores and checks the ciphertext. */
import { ok } from '../../../shared/pure/result.ts';
import { type CustomerKey, createCipher } from '../../domain/customer-key.ts';
import { createByteSource } from '../../engine/blobs/byte-source.ts';
import { BodyHasher } from '../../engine/blobs/digests.ts';
import type { UploadBody } from './upload-body.ts';

/** A body as the engine takes it, with checks that need no digests of the stored bytes. */
export type EncryptedBody = Omit<UploadBody, 'verify'> & { verify(): ReturnType<UploadBody['verify']> };

/**
 * Encrypts a body. What the client declared (MD5, checksums, SHA-256) is compared with the plaintext.
 * @param nonce nonce of the bytes.
 */
export async function encryptBody(body: UploadBody, key: CustomerKey, nonce: string): Promise<EncryptedBody> {
  const cipher = await createCipher(key, nonce);
  const hasher = new BodyHasher(body.checksums, false);
  const source = createByteSource(body.body, { expectedBytes: body.size });
  let offset = 0;
  const encrypted = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = await source.read();
        if (chunk === null) return controller.close();
        hasher.update(chunk);
        controller.enqueue(await cipher.apply(chunk, offset));
        offset += chunk.length;
      },
      cancel: (reason) => source.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return { body: encrypted, size: body.size, checksums: [], verify: () => body.verify(hasher.digest()) };
}

/** Like `encryptBody`, for a part. The nonce becomes the part's ETag. */
export async function encryptPart(body: UploadBody, key: CustomerKey, nonce: string): Promise<EncryptedBody> {
  const encrypted = await encryptBody(body, key, nonce);
  return {
    ...encrypted,
    verify() {
      const verdict = encrypted.verify();
      return verdict.ok ? ok({ ...verdict.value, etag: nonce }) : verdict;
    },
  };
}
