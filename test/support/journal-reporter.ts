/**
 * Writes one line of JSON per ended test file to `TESSERA_TEST_JOURNAL`. The report of Vitest exists only after the last file, so
 * only the journal shows which file kept a run from ending. The log of workerd goes to `TESSERA_TEST_LOG`.
 */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule, TestSpecification } from 'vitest/node';
import { type LogPart, RuntimeLog } from './runtime-log.ts';

export type JournalLine =
  | { started: string[] }
  | {
      file: string;
      passed: boolean;
      /** Name and first error of each failed test. */
      failures: string[];
      /** What was logged while the file ran. Other files may run at the same time. */
      log?: LogPart;
    };

const fileOf = (id: string) => relative(process.cwd(), id);

export default class JournalReporter implements Reporter {
  private readonly path = process.env.TESSERA_TEST_JOURNAL ?? '';
  private log: RuntimeLog | undefined;
  private readonly begins = new Map<string, number>();

  private write(line: JournalLine): void {
    appendFileSync(this.path, `${JSON.stringify(line)}\n`);
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.write({ started: specifications.map((specification) => fileOf(specification.moduleId)) });
    const path = process.env.TESSERA_TEST_LOG;
    if (!path || this.log) return;
    // Not earlier: the default reporter has its own hold on these streams, and it begins before.
    this.log = new RuntimeLog(path);
    this.log.divert(process.stdout);
    this.log.divert(process.stderr);
  }

  onTestModuleStart(module: TestModule): void {
    if (this.log) this.begins.set(module.moduleId, this.log.size);
  }

  onTestModuleEnd(module: TestModule): void {
    const failures = [...module.children.allTests('failed')].map(
      (test) => `${test.fullName}: ${test.result().errors?.[0]?.message ?? 'no error message'}`,
    );
    const errors = module.errors().map((error) => error.message);
    this.write({
      file: fileOf(module.moduleId),
      passed: module.ok(),
      failures: [...failures, ...errors],
      ...(this.log ? { log: [this.begins.get(module.moduleId) ?? 0, this.log.size] as const } : {}),
    });
  }
}
