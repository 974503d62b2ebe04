import { err, ok } from '../../../shared/pure/result.ts';
import { findCorsRule, parseRequestHeaders, toCorsHeaders } from '../../domain/cors.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { corsOf } from '../access/bucket-configuration.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import type { Operation } from '../protocol/operation.ts';

/** Answers the CORS preflight of a browser. A preflight has no credentials, so the bucket's rules alone decide. */
export const preflightObject: Operation = {
  needs: 'service',
  async run({ request, engine }) {
    const origin = request.headers.get('origin');
    const method = request.headers.get('access-control-request-method');
    if (origin === null) {
      return err(s3Failure('BadRequest', 'Insufficient information. Origin request header needed.'));
    }
    if (method === null) {
      return err(s3Failure('BadRequest', 'Invalid Access-Control-Request-Method: null'));
    }
    if (request.bucket === '') return err(forbidden('CORSResponse: CORS is not enabled for this bucket.'));
    const bucket = await engine.getBucket(request.bucket);
    if (!bucket.ok) return err(toS3Error(bucket.error));
    const rules = corsOf(bucket.value);
    if (!rules) return err(forbidden('CORSResponse: CORS is not enabled for this bucket.'));
    const headers = parseRequestHeaders(request.headers.get('access-control-request-headers'));
    const rule = findCorsRule(rules, origin, method, headers);
    if (!rule) return err(forbidden('CORSResponse: This CORS request is not allowed.'));
    return ok(
      emptyAnswer(200, {
        ...toCorsHeaders(rule, origin),
        ...(headers.length > 0 ? { 'access-control-allow-headers': headers.join(', ') } : {}),
      }),
    );
  },
};

const forbidden = (message: string): S3Failure => s3Failure('AccessForbidden', message);
