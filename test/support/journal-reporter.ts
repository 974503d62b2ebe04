/**
 * Writes one line of JSON per ended test file to `TESSERA_TEST_JOURNAL`. The report of Vitest exists only after the last file, so
 * only the journal shows which file kept a run from ending.
 */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule, TestSpecification } from 'vitest/node';

export type JournalLine =
  | { started: string[] }
  | {
      file: string;
      passed: boolean;
      /** Name and first error of each failed test. */
      failures: string[];
    };

const fileOf = (id: string) => relative(process.cwd(), id);

export default class JournalReporter implements Reporter {
  private readonly path = process.env.TESSERA_TEST_JOURNAL ?? '';

  private write(line: JournalLine): void {
    appendFileSync(this.path, `${JSON.stringify(line)}\n`);
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.write({ started: specifications.map((specification) => fileOf(specification.moduleId)) });
  }

  onTestModuleEnd(module: TestModule): void {
    const failures = [...module.children.allTests('failed')].map(
      (test) => `${test.fullName}: ${test.result().errors?.[0]?.message ?? 'no error message'}`,
    );
    const errors = module.errors().map((error) => error.message);
    this.write({ file: fileOf(module.moduleId), passed: module.ok(), failures: [...failures, ...errors] });
  }
}
