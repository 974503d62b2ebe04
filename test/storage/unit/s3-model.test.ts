/**
 * Checks every command of the public S3 model against the router. `test/storage/system/model.test.ts` sends them to a running
 * server.
 */
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../workers/storage/s3/operations/index.ts';
import { detectAction } from '../../../workers/storage/s3/protocol/detect.ts';
import {
  COMMANDS,
  IMPLEMENTED,
  NOT_IMPLEMENTED,
  serialize,
  toInput,
  UNSET,
  UNSET_WRITES,
} from '../../support/storage/s3-commands.ts';

const UNSET_ACTIONS: Readonly<Record<string, string>> = {
  GET: 'GetUnsetConfiguration',
  PUT: 'PutUnsetConfiguration',
  DELETE: 'DeleteUnsetConfiguration',
};

describe('every command of @aws-sdk/client-s3', () => {
  it('is listed once: as implemented, unset or refused', () => {
    const listed = [IMPLEMENTED, UNSET, UNSET_WRITES].flatMap((list) => Object.keys(list)).concat(NOT_IMPLEMENTED);
    expect(listed.sort()).toEqual(COMMANDS.map(({ name }) => name).sort());
    expect(listed.length).toBeGreaterThanOrEqual(112);
  });

  it.each(COMMANDS.map((command) => [command.name, command] as const))('%s', async (name, command) => {
    const { method, path, query, headers } = await serialize(command.create(toInput('bucket', 'key')));
    const [, bucket = '', key = ''] = path.split('/');
    const detected = detectAction({ method, bucket, key, query, headers });
    if (NOT_IMPLEMENTED.includes(name)) {
      expect(detected).toMatchObject({ ok: false, error: { code: 'NotImplemented' } });
      return;
    }
    const action = IMPLEMENTED[name] ?? UNSET_ACTIONS[method];
    expect(detected).toEqual({ ok: true, value: action });
    expect(OPERATIONS).toHaveProperty(action ?? '');
  });
});
