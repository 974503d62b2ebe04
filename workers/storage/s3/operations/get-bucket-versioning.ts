import { ok } from '../../../shared/pure/result.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

const STATUS = { never: null, enabled: 'Enabled', suspended: 'Suspended' } as const;

export const getBucketVersioning: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketVersioning'),
  async run({ bucket }) {
    return ok(xmlAnswer('VersioningConfiguration', element('Status', STATUS[bucket.versioning])));
  },
};
