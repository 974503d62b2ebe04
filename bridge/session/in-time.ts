/** The client was silent for too long. */
export class SilentError extends Error {}

/** @throws SilentError after the limit. */
export async function inTime<T>(waiting: Promise<T>, limitMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SilentError()), limitMs);
  });
  try {
    return await Promise.race([waiting, limit]);
  } finally {
    clearTimeout(timer);
    waiting.catch(() => {});
  }
}
