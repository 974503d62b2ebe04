/** Helpers of the leaderboard browser tests: read the page's top list, and post scores. */
import { crc32, deflateSync } from 'node:zlib';
import type { FrameLocator, Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { TestServer } from '../../support/server.ts';
import { eventually } from '../../web/browser/chromium.ts';

/** Returns the lines of the top list, best first: `rank name score`. */
export const readTopList = (page: Page): Promise<string[]> =>
  page.getByRole('table', { name: 'Top list' }).evaluate((table) =>
    [...table.querySelectorAll('tbody tr')].map((row) => {
      const text = (selector: string) => row.querySelector(selector)?.textContent?.trim();
      return `${text('.rank')} ${text('.name')} ${text('.score')}`;
    }),
  );

/** Posts scores of 40 players, 10 to 49 points. @returns a token that may write scores. */
export async function postPlayers(server: TestServer): Promise<string> {
  const { body } = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
  const updates = Array.from({ length: 40 }, (_, index) => ({
    user_id: `player-${index}`,
    user_name: `Player ${index}`,
    points: 10 + index,
  }));
  await server.call('POST', '/v1/scores/batch', { updates }, body.token);
  return body.token;
}

const LOGO_PIXELS = 64;

/** Makes a PNG of a square in one colour, as a board's logo. */
function makeLogo(): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const named = Buffer.concat([Buffer.from(type), data]);
    const frame = Buffer.alloc(4);
    frame.writeUInt32BE(data.length);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(named));
    return Buffer.concat([frame, named, sum]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(LOGO_PIXELS, 0);
  header.writeUInt32BE(LOGO_PIXELS, 4);
  // PNG header: 8 bits per channel, and colour type 2 (red, green and blue).
  header.set([8, 2], 8);
  const line = [0, ...Array.from({ length: LOGO_PIXELS }, () => [224, 90, 40]).flat()];
  const lines = Buffer.from(Array.from({ length: LOGO_PIXELS }, () => line).flat());
  const start = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    start,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(lines)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
export const LOGO = makeLogo();

export async function setLogo(server: TestServer, board: string): Promise<void> {
  const headers = { authorization: `Bearer ${server.rootToken}`, 'content-type': 'image/png' };
  const { status } = await fetch(`${server.url}/v1/boards/${board}/logo`, {
    method: 'PUT',
    headers,
    body: new Uint8Array(LOGO),
  });
  expect(status).toBe(200);
}

/** Waits until the logo in this part of the page has been decoded. */
export const expectLogo = (part: Locator | FrameLocator): Promise<void> =>
  eventually(() =>
    part
      .locator('img.board-logo')
      .evaluateAll((images) => images.map((image) => (image as HTMLImageElement).naturalWidth)),
  ).toEqual([LOGO_PIXELS]);
