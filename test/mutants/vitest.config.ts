/** The unit tests that can reach a `domain/` folder, as Stryker runs them. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/unit/**/*.test.ts'],
    exclude: ['**/*.long.test.ts', 'test/unit/web/**'],
    testTimeout: 60_000,
  },
});
