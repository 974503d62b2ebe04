/** Slots for the requests of all uploads. Their number follows the line (`upload-pace.ts`). */
import { afterRefusal, afterSuccess, limitMax, startPace } from './upload-pace.ts';

const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
/** The storage host is at the same edge as the page, so it has the same protocol. */
const MAX = limitMax(navigation?.nextHopProtocol ?? '');

let current = startPace(performance.now());
let held = 0;
let waiting: (() => void)[] = [];

export const pace = () => current;

function admit(): void {
  while (held < current.limit) {
    const next = waiting.shift();
    if (!next) return;
    held += 1;
    next();
  }
}

/** Runs a request, with its retries, once a slot is free. */
export async function holdSlot(signal: AbortSignal, send: () => Promise<void>): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      waiting = waiting.filter((one) => one !== start);
      reject(signal.reason);
    };
    const start = () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    signal.throwIfAborted();
    signal.addEventListener('abort', onAbort);
    waiting.push(start);
    admit();
  });
  try {
    await send();
  } finally {
    held -= 1;
    admit();
  }
}

export function reportSuccess(bytes: number): void {
  current = afterSuccess(current, bytes, performance.now(), MAX);
}

export function reportRefusal(): void {
  current = afterRefusal(current, performance.now());
}
