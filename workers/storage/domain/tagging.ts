/** Tags of objects and buckets (Amazon S3 User Guide, "Categorizing your objects using tags"). */

import { err, ok, type Result } from '../../shared/pure/result.ts';
import { decodeUri } from '../../shared/pure/uri-encoding.ts';
import { type S3Failure, s3Failure } from './failure.ts';

export interface Tag {
  readonly key: string;
  readonly value: string;
}

export const OBJECT_TAGS_MAX = 10;
export const BUCKET_TAGS_MAX = 50;
const TAG_KEY_CHARACTERS_MAX = 128;
const TAG_VALUE_CHARACTERS_MAX = 256;
const TAG_CHARACTERS = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;

export function checkTags(tags: readonly Tag[], tagsMax = OBJECT_TAGS_MAX): Result<readonly Tag[], S3Failure> {
  const invalid = (message: string, more: Record<string, string> = {}) =>
    err(s3Failure('InvalidTag', message, { details: more }));
  if (tags.length > tagsMax) {
    const message =
      tagsMax === OBJECT_TAGS_MAX
        ? `Object tags cannot be greater than ${tagsMax}`
        : `Bucket tag count cannot be greater than ${tagsMax}`;
    return err(s3Failure('BadRequest', message));
  }
  const seen = new Set<string>();
  for (const { key, value } of tags) {
    if (key.length === 0 || [...key].length > TAG_KEY_CHARACTERS_MAX || !TAG_CHARACTERS.test(key)) {
      return invalid('The TagKey you have provided is invalid', { TagKey: key });
    }
    if ([...value].length > TAG_VALUE_CHARACTERS_MAX || !TAG_CHARACTERS.test(value)) {
      return invalid('The TagValue you have provided is invalid', { TagKey: key, TagValue: value });
    }
    if (/^aws:/i.test(key)) return invalid('System tags cannot be added/updated by requester', { TagKey: key });
    if (seen.has(key)) return invalid('Cannot provide multiple Tags with the same key', { TagKey: key });
    seen.add(key);
  }
  return ok(tags);
}

/** Parses the header `x-amz-tagging`, which has the form of URL query parameters: `a=b&c=d`. */
export function parseTaggingHeader(header: string): Result<readonly Tag[], S3Failure> {
  const malformed = err(
    s3Failure(
      'InvalidArgument',
      "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.",
      { details: { ArgumentName: 'x-amz-tagging', ArgumentValue: header } },
    ),
  );
  const tags: Tag[] = [];
  for (const part of header.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    const key = decodeUri(at < 0 ? part : part.slice(0, at), true);
    const value = decodeUri(at < 0 ? '' : part.slice(at + 1), true);
    if (key === null || value === null || key === '') return malformed;
    if (tags.some((tag) => tag.key === key)) return malformed;
    tags.push({ key, value });
  }
  return checkTags(tags);
}
