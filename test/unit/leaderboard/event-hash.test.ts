import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { hashEvent } from '../../../workers/leaderboard/domain/event-hash.ts';
import { announceSeed, createRandom } from './random.ts';

it('is the prefix of the SHA-256 of an event id, for any length and script', () => {
  const random = createRandom(announceSeed());
  for (let length = 0; length <= 200; length++) {
    for (const alphabet of ['0aZ-', 'é√𐍈'])
      for (let attempt = 0; attempt < 5; attempt++) {
        const letters = [...alphabet];
        const id = Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join('');
        const expected = createHash('sha256').update(id).digest('hex').slice(0, 32);
        expect([id, Buffer.from(hashEvent(id)).toString('hex')]).toEqual([id, expected]);
      }
  }
});
