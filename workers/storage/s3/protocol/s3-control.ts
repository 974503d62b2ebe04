/**
 * Requests of the S3 Control API, which is not implemented. Terraform's provider reads and writes the tags of a bucket there
 * first. It falls back to GetBucketTagging after an `AccessDenied` whose message says "is not authorized to perform"
 * (terraform-provider-aws from 6.23.0 on, issue 45784).
 */
import { s3Failure } from '../../domain/failure.ts';
import { answer, toErrorDocument } from './answer.ts';
import type { S3Request } from './request.ts';

const TAG_ACTIONS: Readonly<Record<string, string>> = {
  GET: 'ListTagsForResource',
  POST: 'TagResource',
  DELETE: 'UntagResource',
};

/**
 * Refuses a request of the S3 Control API. Its SDKs put the account into a header, and often also into the host. @returns null if
 * the request is not of this API.
 */
export function answerS3Control(request: S3Request, requestId: string): Response | null {
  const path = /(?:^|\/)v20180820\/(.*)$/s.exec(`${request.bucket}/${request.key}`)?.[1];
  if (path === undefined || !request.headers.has('x-amz-account-id')) return null;
  const action = path.startsWith('tags/') ? TAG_ACTIONS[request.method] : undefined;
  const [status, failure] =
    action === undefined
      ? ([501, s3Failure('NotImplemented', 'The S3 Control API is not implemented.')] as const)
      : ([
          403,
          s3Failure(
            'AccessDenied',
            `The S3 Control API is not implemented, so this caller is not authorized to perform: s3:${action}. Use the tagging operations of S3.`,
          ),
        ] as const);
  return answer(toErrorDocument(failure, request.resource, requestId, 'ErrorResponse'), status, {
    'content-type': 'application/xml',
  });
}
