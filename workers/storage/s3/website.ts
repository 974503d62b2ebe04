/**
 * Websites at `bucket.S3_HOST`. If a bucket has a website configuration, anonymous reads there get the index document of a folder, and
 * the error document in place of an error. Rights are those of every anonymous read. Other requests are those of the S3 API.
 */
import { ok, type Result } from '../../shared/pure/result.ts';
import { S3_ERRORS } from '../domain/error-codes.ts';
import type { S3Failure } from '../domain/failure.ts';
import { toFolderIndex, toPageKey, type Website } from '../domain/website.ts';
import { answer, emptyAnswer } from './protocol/answer.ts';
import type { S3Request } from './protocol/request.ts';

/** Whether a website answers a request, if its bucket has one. */
export const isPageRequest = ({ method, hostBucket, rawQuery, headerNames }: S3Request): boolean =>
  hostBucket !== null &&
  (method === 'GET' || method === 'HEAD') &&
  rawQuery === '' &&
  !headerNames.includes('authorization');

/** Reads an object as the S3 API does. */
type Read = (request: S3Request) => Promise<Result<Response, S3Failure>>;

const withKey = (request: S3Request, key: string): S3Request => ({
  ...request,
  key,
  resource: `/${request.bucket}/${key}`,
});

/** Headers that choose a part of a page, or compare it with an earlier one. They do not concern an error document. */
const OF_PAGE = ['range', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range'];

function withoutConditions(request: S3Request): S3Request {
  const headers = new Headers(request.headers);
  for (const name of OF_PAGE) headers.delete(name);
  return { ...request, headers, headerNames: [...headers.keys()] };
}

const redirect = (status: 301 | 302, location: string): Response => emptyAnswer(status, { location });
const schemeOf = ({ isSecure }: S3Request): string => (isSecure ? 'https' : 'http');

export async function answerPage(
  request: S3Request,
  { redirectAll, index, error }: Website,
  read: Read,
): Promise<Result<Response, S3Failure>> {
  if (redirectAll !== null || index === null) {
    const { host = '', protocol = null } = redirectAll ?? {};
    return ok(redirect(301, `${protocol ?? schemeOf(request)}://${host}${request.rawPath}`));
  }
  const page = await read(withKey(request, toPageKey(request.key, index)));
  if (page.ok) return ok(followRedirect(page.value));
  const status = page.error.status ?? S3_ERRORS[page.error.code][0];
  if (status !== 403 && status !== 404) return page;
  const folder = toFolderIndex(request.key, index);
  if (folder !== null && (await read({ ...withKey(withoutConditions(request), folder), method: 'HEAD' })).ok) {
    const host = request.headers.get('host') ?? '';
    return ok(redirect(302, `${schemeOf(request)}://${host}${request.rawPath}/`));
  }
  if (error === null) return page;
  const document = await read(withKey(withoutConditions(request), error));
  return document.ok ? ok(answer(document.value.body, status, document.value.headers)) : page;
}

/** Redirects to where the object says, by `x-amz-website-redirect-location`. */
function followRedirect(page: Response): Response {
  const location = page.headers.get('x-amz-website-redirect-location');
  if (location === null) return page;
  void page.body?.cancel();
  return redirect(301, location);
}
