/** Starts the server and the browser that all tests of a file share. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { startServer, type TestServer, type TestServerOptions } from '../../support/server.ts';
import { closeTabs, openChromium } from './chromium.ts';

interface Stage {
  readonly server: TestServer;
  readonly browser: Browser;
}

/**
 * Starts a server and a browser before the tests of the calling file or `describe`, and stops both after them. Only tests and hooks
 * that are declared later may use them.
 */
export function useStage(options: TestServerOptions = {}, open = openChromium): Stage {
  const stage = {} as { server: TestServer; browser: Browser };
  beforeAll(async () => {
    [stage.server, stage.browser] = await Promise.all([startServer(options), open()]);
  });
  afterAll(async () => {
    await closeTabs(stage.browser);
    await stage.server?.[Symbol.asyncDispose]();
  });
  return stage;
}
