/** What a process really holds, once nothing but what is still used is left in this one. */
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose_gc');
export const collectGarbage: () => void = runInNewContext('gc');

/** Resident memory, from Linux's /proc; 0 elsewhere. */
export function residentBytes(pid: number | 'self'): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
