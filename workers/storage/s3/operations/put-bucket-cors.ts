import { err, ok } from '../../../shared/pure/result.ts';
import { type CorsRule, checkCorsRules } from '../../domain/cors.ts';
import { s3Failure } from '../../domain/failure.ts';
import { readDocument } from '../bodies/document-body.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { childrenOf, parseXml, textOf, textsOf } from '../protocol/xml-parser.ts';

export const putBucketCors: Operation = {
  needs: 'bucket',
  permission: onBucket('PutBucketCORS'),
  async run({ bucket, engine, request, caller }) {
    const text = await readDocument(request, caller.payload);
    if (!text.ok) return text;
    const root = parseXml(text.value, 'CORSConfiguration');
    if (!root.ok) return root;
    const rules: CorsRule[] = [];
    for (const item of childrenOf(root.value, 'CORSRule')) {
      const maxAge = textOf(item, 'MaxAgeSeconds');
      if (maxAge !== null && !/^-?\d{1,9}$/.test(maxAge)) return err(s3Failure('MalformedXML'));
      rules.push({
        id: textOf(item, 'ID'),
        allowedOrigins: textsOf(item, 'AllowedOrigin'),
        allowedMethods: textsOf(item, 'AllowedMethod'),
        allowedHeaders: textsOf(item, 'AllowedHeader'),
        exposeHeaders: textsOf(item, 'ExposeHeader'),
        maxAgeSeconds: maxAge === null ? null : Number(maxAge),
      });
    }
    const checked = checkCorsRules(rules);
    if (!checked.ok) return checked;
    const set = await engine.setConfiguration(bucket, 'cors', JSON.stringify(rules));
    return set.ok ? ok(emptyAnswer(200)) : err(toS3Error(set.error));
  },
};
