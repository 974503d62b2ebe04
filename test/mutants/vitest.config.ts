/** The unit tests that Stryker runs: all except slow ones that hardly reach a `domain/` folder. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: JSON.parse(process.env.TESSERA_MUTANT_TESTS ?? '["test/*/unit/**/*.test.ts"]'),
    exclude: [
      '**/*.long.test.ts',
      'test/web/unit/**',
      'test/mail/unit/checks/**',
      'test/mail/unit/outbound/{compose-and-sign,smtp-client}.test.ts',
      'test/mail/unit/{charsets,clean-html,lean-reader,memory-budget}.test.ts',
    ],
    setupFiles: ['test/mutants/setup.ts'],
    testTimeout: 60_000,
  },
});
