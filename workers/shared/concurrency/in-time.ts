/** Waits for work, but only for a time. @returns its value, or `late` if it took too long. The work itself continues. */
export async function inTime<T, L>(work: PromiseLike<T>, timeoutMs: number, late: L): Promise<T | L> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<L>((resolve) => {
    timer = setTimeout(() => resolve(late), timeoutMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
