import { err, ok } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { corsOf } from '../access/bucket-configuration.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

export const getBucketCors: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketCORS'),
  async run({ bucket }) {
    const rules = corsOf(bucket);
    if (!rules) return err(s3Failure('NoSuchCORSConfiguration'));
    return ok(
      xmlAnswer(
        'CORSConfiguration',
        rules.map((rule) =>
          element('CORSRule', [
            element('ID', rule.id),
            ...rule.allowedMethods.map((method) => element('AllowedMethod', method)),
            ...rule.allowedOrigins.map((origin) => element('AllowedOrigin', origin)),
            ...rule.allowedHeaders.map((header) => element('AllowedHeader', header)),
            ...rule.exposeHeaders.map((header) => element('ExposeHeader', header)),
            element('MaxAgeSeconds', rule.maxAgeSeconds),
          ]),
        ),
      ),
    );
  },
};
