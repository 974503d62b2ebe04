/** Processes of a benchmark's servers, from Linux's /proc. */
import { readFileSync } from 'node:fs';

/** Lists the process ids of this process's children. Empty on other systems. */
export function listChildren(): string[] {
  try {
    return readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean);
  } catch {
    return [];
  }
}

/**
 * Returns the processor time that processes have used since their start, in milliseconds. Linux counts in hundredths of a second.
 */
export function readCpuMs(pids: readonly string[]): number {
  return pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return sum + (Number(fields[11]) + Number(fields[12])) * 10;
  }, 0);
}
