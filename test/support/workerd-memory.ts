/** Measures the peak memory of workerd during an operation, as counted by the kernel. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { TestServer } from './server.ts';

/** Measures memory around an operation. @returns bytes of resident memory before `work`, and their peak while it ran. */
export async function watchMemory(
  server: TestServer,
  work: () => Promise<void>,
): Promise<{ readonly before: number; readonly peak: number }> {
  const pid = findWorkerd(server.pid);
  const before = readStatus(pid, 'VmRSS');
  // Reset the peak of the resident memory (see proc_pid_clear_refs(5)).
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  await work();
  return { before, peak: readStatus(pid, 'VmHWM') };
}

function findWorkerd(parent: number): number {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,comm='], { encoding: 'utf8' }).trim().split('\n');
  const processes = rows.map((row) => row.trim().split(/\s+/));
  const family = new Set([String(parent)]);
  for (let size = 0; size < family.size; ) {
    size = family.size;
    for (const [pid = '', ppid = ''] of processes) if (family.has(ppid)) family.add(pid);
  }
  const found = processes.find(([pid = '', , name = '']) => family.has(pid) && name.startsWith('workerd'));
  if (!found?.[0]) throw new Error('workerd process not found');
  return Number(found[0]);
}

const readStatus = (pid: number, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
