/** Measures the resident memory of a process. To measure this process, call `collectGarbage` first. */
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose_gc');
export const collectGarbage: () => void = runInNewContext('gc');

/** Reads the resident memory of a process from Linux's /proc. @returns bytes, or 0 on other systems. */
export function residentBytes(pid: number | 'self'): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
