/**
 * Reads a body to its end, or up to and including the chunk that exceeds the limit.
 * @returns the bytes. If they are more than `bytesMax`, the body is too long.
 */
export async function readLimited(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > bytesMax) break;
  }
  return Buffer.concat(chunks);
}
