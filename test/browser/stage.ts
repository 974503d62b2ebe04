/** The server and the browser of a file of tests. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { startServer, type TestServer, type TestServerOptions } from '../support/server.ts';
import { launchChromium } from './chromium.ts';

interface Stage {
  readonly server: TestServer;
  readonly browser: Browser;
}

/**
 * Starts a server and a browser before the tests of the calling file or `describe`, and ends both after them. They exist in
 * tests and in hooks that are declared later.
 */
export function useStage(options: TestServerOptions = {}, launch = launchChromium): Stage {
  const stage = {} as { server: TestServer; browser: Browser };
  beforeAll(async () => {
    [stage.server, stage.browser] = await Promise.all([startServer(options), launch()]);
  });
  afterAll(async () => {
    await stage.browser?.close();
    await stage.server?.[Symbol.asyncDispose]();
  });
  return stage;
}
