/** The Chromium of the browser tests: Debian's headless shell, else Debian's Chromium. `CHROMIUM` names another binary. */
import { existsSync } from 'node:fs';
import { reportMissing } from '../../support/missing-programs.ts';

/** The headless shell has no window code and starts in half the time. */
const SHELL = '/usr/bin/chromium-headless-shell';
/** The full Chromium shows notifications. The headless shell does not. */
export const WHOLE = '/usr/bin/chromium';

const chosen = process.env.CHROMIUM ?? [SHELL, WHOLE].find((path) => existsSync(path));

export const hasChromium = chosen !== undefined;
export const hasWholeChromium = existsSync(WHOLE);
// Without the full Chromium, only the tests of notifications are skipped if there is another binary.
if (!hasChromium || !hasWholeChromium) reportMissing('chromium');

export const findChromium = (): { executablePath: string } => ({ executablePath: chosen ?? SHELL });
