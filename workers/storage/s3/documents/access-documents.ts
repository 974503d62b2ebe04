/** The public access block and the object ownership of a bucket in XML. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { ObjectOwnership, PublicAccessBlock } from '../../domain/access.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import { childrenOf, parseXml, textOf } from '../protocol/xml-parser.ts';

export function parsePublicAccessBlock(text: string): Result<PublicAccessBlock, S3Failure> {
  const root = parseXml(text, 'PublicAccessBlockConfiguration');
  if (!root.ok) return root;
  const flag = (name: string) => textOf(root.value, name)?.trim().toLowerCase() === 'true';
  return ok({
    blockPublicAcls: flag('BlockPublicAcls'),
    ignorePublicAcls: flag('IgnorePublicAcls'),
    blockPublicPolicy: flag('BlockPublicPolicy'),
    restrictPublicBuckets: flag('RestrictPublicBuckets'),
  });
}

export const toPublicAccessBlockElements = (block: PublicAccessBlock): XmlNode[] => [
  element('BlockPublicAcls', block.blockPublicAcls),
  element('IgnorePublicAcls', block.ignorePublicAcls),
  element('BlockPublicPolicy', block.blockPublicPolicy),
  element('RestrictPublicBuckets', block.restrictPublicBuckets),
];

const OWNERSHIPS: readonly string[] = ['BucketOwnerEnforced', 'BucketOwnerPreferred', 'ObjectWriter'];
const isOwnership = (text: string): text is ObjectOwnership => OWNERSHIPS.includes(text);

export function parseOwnership(text: string): Result<ObjectOwnership, S3Failure> {
  const root = parseXml(text, 'OwnershipControls');
  if (!root.ok) return root;
  const [rule, another] = childrenOf(root.value, 'Rule');
  const ownership = rule && textOf(rule, 'ObjectOwnership');
  return ownership && !another && isOwnership(ownership) ? ok(ownership) : err(s3Failure('MalformedXML'));
}

export const toOwnershipElement = (ownership: ObjectOwnership): XmlNode =>
  element('Rule', element('ObjectOwnership', ownership));
