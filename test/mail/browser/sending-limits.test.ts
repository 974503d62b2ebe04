/** Tests the compose window for mail that cannot leave: its files are too large for the transport, or a check refused it. */
import { describe, expect, it } from 'vitest';
import { awaitMessage, registerUser } from '../../support/mail/mail.ts';
import { expectAccessible, hasChromium } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { folder, openRow, signIn } from './mail-page.ts';

const GTUBE = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';

describe.skipIf(!hasChromium)('the compose window', () => {
  const stage = useStage({
    vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open', MAIL_TRANSPORT: 'email-service' },
  });

  it('says that the files are too large for other servers, before the message is sent', async () => {
    const user = await registerUser(stage.server, 'large');
    const { page } = await signIn(stage.server, stage.browser, user);
    await page.getByRole('button', { name: 'Write', exact: true }).first().click();
    const compose = page.locator('.compose');
    const file = (bytes: number) => ({ name: 'a.bin', mimeType: 'text/plain', buffer: Buffer.alloc(bytes) });
    await compose.getByLabel('Attach', { exact: true }).setInputFiles([file(3_000_000)]);
    await page.getByRole('list', { name: 'Attachments' }).getByText('a.bin').waitFor();
    expect(await compose.getByText('A message to another server can have').count()).toBe(0);
    await compose.getByLabel('Attach', { exact: true }).setInputFiles([file(1_000_000)]);
    await compose.getByText(/These files have .* A message to another server can have .* of files\./).waitFor();
    await expectAccessible(page);
    await page.context().close();
  });

  it('shows why a message came back to Drafts, until it is changed', async () => {
    const user = await registerUser(stage.server, 'blocked');
    const body = { to: [{ email: 'bob@far.test' }], subject: 'Offer', body: GTUBE };
    await stage.server.call('POST', '/v1/messages', body, user.token);
    await awaitMessage(stage.server, user, 'drafts', 'Offer');
    const { page } = await signIn(stage.server, stage.browser, user);
    await folder(page, 'Drafts').click();
    await openRow(page, 'Offer');
    await page.getByRole('button', { name: 'Continue writing' }).click();
    const reason = page.getByText(/This message was not sent and is a draft again\. .*blocked by the spam check/);
    await reason.waitFor();
    await expectAccessible(page);
    await page.getByRole('textbox', { name: 'Message' }).fill('A better offer');
    await reason.waitFor({ state: 'detached' });
    await page.context().close();
  });
});
