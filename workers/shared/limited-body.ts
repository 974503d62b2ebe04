/** Reads a body to its end, or to the chunk that exceeds the limit. @returns more than `bytesMax` bytes if it is too long. */
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
