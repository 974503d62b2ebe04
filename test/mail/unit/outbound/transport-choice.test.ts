import { describe, expect, it } from 'vitest';
import { toBase64Size } from '../../../../workers/mail/domain/base64-size.ts';
import {
  bytesMaxOf,
  chooseTransport,
  EMAIL_SERVICE_BYTES_MAX,
  SENDING_OVERHEAD_BYTES,
  splitTransports,
  toFileBytesMax,
} from '../../../../workers/mail/domain/transport-choice.ts';

const RELAY = 'smtp://relay.test';
const message = (sizeBytes: number, isForward = false) => ({ sizeBytes, isForward });

describe('of several transports', () => {
  const both = splitTransports(`email-service, ${RELAY}`);
  it('the first one that takes the message is chosen', () => {
    expect(both).toEqual(['email-service', RELAY]);
    expect(chooseTransport(both, message(EMAIL_SERVICE_BYTES_MAX))).toBe('email-service');
    expect(chooseTransport(both, message(EMAIL_SERVICE_BYTES_MAX + 1))).toBe(RELAY);
    expect(chooseTransport(both, message(100, true))).toBe(RELAY);
    expect(chooseTransport([RELAY, 'email-service'], message(100))).toBe(RELAY);
  });
  it('the first one refuses what none takes', () => {
    expect(chooseTransport(['email-service'], message(EMAIL_SERVICE_BYTES_MAX + 1))).toBe('email-service');
  });
  it('only Email Service alone has a limit of ours', () => {
    expect([bytesMaxOf(['email-service']), bytesMaxOf(both), bytesMaxOf([RELAY])]).toEqual([
      EMAIL_SERVICE_BYTES_MAX,
      null,
      null,
    ]);
  });
});

it('the size of the files that fit is right to a line of Base64', () => {
  for (let other = 0; other < 3_000; other += 7) {
    const bytes = toFileBytesMax(EMAIL_SERVICE_BYTES_MAX, other);
    const room = EMAIL_SERVICE_BYTES_MAX - SENDING_OVERHEAD_BYTES - other;
    expect(toBase64Size(bytes)).toBeLessThanOrEqual(room);
    expect(toBase64Size(bytes + 2 * 57)).toBeGreaterThan(room);
  }
  expect(toFileBytesMax(100, 0)).toBe(0);
});
