/** Tag sets in XML documents. */
import { err, type Result } from '../../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { checkTags, type Tag } from '../../domain/tagging.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import { childOf, childrenOf, parseXml, textOf, type XmlElement } from '../protocol/xml-parser.ts';

export function parseTagDocument(text: string, tagsMax: number): Result<readonly Tag[], S3Failure> {
  const root = parseXml(text, 'Tagging');
  if (!root.ok) return root;
  const set = childOf(root.value, 'TagSet');
  return set ? readTags(set, tagsMax) : err(s3Failure('MalformedXML'));
}

/** Reads the tags of a tag set. @param set the element that contains the `Tag` elements. */
export function readTags(set: XmlElement, tagsMax: number): Result<readonly Tag[], S3Failure> {
  const tags: Tag[] = [];
  for (const item of childrenOf(set, 'Tag')) {
    const [key, value] = [textOf(item, 'Key'), textOf(item, 'Value')];
    if (key === null || value === null) return err(s3Failure('MalformedXML'));
    tags.push({ key, value });
  }
  return checkTags(tags, tagsMax);
}

export const toTagSet = (tags: Iterable<Tag>): XmlNode =>
  element(
    'TagSet',
    // The tags are sorted by key, regardless of the order in which they were set.
    [...tags]
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ key, value }) => element('Tag', [element('Key', key), element('Value', value)])),
  );

export const toTagRecord = (tags: readonly Tag[]): Record<string, string> | null =>
  tags.length === 0 ? null : Object.fromEntries(tags.map(({ key, value }) => [key, value]));

export const fromTagRecord = (record: Readonly<Record<string, string>> | null): Tag[] =>
  Object.entries(record ?? {}).map(([key, value]) => ({ key, value }));
