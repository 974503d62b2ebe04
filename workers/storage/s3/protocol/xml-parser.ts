/** Parses XML of S3 with the reader of all products. */
import { findExceededXmlBound } from '../../../shared/pure/request-budget.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { readXml, type XmlElement } from '../../../shared/xml/xml-reader.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';

/** A parsed element takes about 200 bytes and two microseconds. The largest documented configuration has 1,000 rules. */
const BOUNDS = { depthMax: 16, valuesMax: 20_000 };

/** Parses an XML document. @param rootName name that the root element must have. */
export function parseXml(text: string, rootName: string): Result<XmlElement, S3Failure> {
  const malformed = err(s3Failure('MalformedXML'));
  if (text.trim() === '') return err(s3Failure('MissingRequestBodyError'));
  const root = readXml(text, BOUNDS, false);
  return root?.name === rootName ? ok(root) : malformed;
}

/** An item with all checksums has eight elements. */
const VALUES_PER_ITEM_MAX = 10;
/**
 * Characters that are parsed at once. They take a few milliseconds, and other requests run between two slices. An item has fewer: a key
 * of 1,024 bytes, fully escaped, has 6 KB.
 */
const SLICE_LENGTH_MAX = 32 * 1024;

export interface XmlList {
  readonly rootName: string;
  /** Name of the items, which are children of the root. */
  readonly itemName: string;
  /** A list with more items is malformed. */
  readonly itemsMax: number;
}

/** Parses a document that is a list of many items in slices, so that it does not hold the isolate's thread for long. */
export async function parseXmlList(text: string, list: XmlList): Promise<Result<XmlElement, S3Failure>> {
  const { rootName, itemName, itemsMax } = list;
  if (text.length <= SLICE_LENGTH_MAX) return parseXml(text, rootName);
  const malformed = err(s3Failure('MalformedXML'));
  const bounds = { ...BOUNDS, valuesMax: itemsMax * VALUES_PER_ITEM_MAX };
  // Comments and CDATA sections may contain the text of tags, so a long document with them cannot be cut, and is refused.
  if (findExceededXmlBound(text, bounds) !== null || text.includes('<!')) return malformed;
  const begin = text.search(new RegExp(`<(?:[\\w.-]+:)?${itemName}[\\s>]`));
  const end = new RegExp(`</(?:[\\w.-]+:)?${itemName}\\s*>`, 'g');
  const ends = [...text.matchAll(end)].map((found) => found.index + found[0].length);
  const last = ends.at(-1) ?? 0;
  if (begin < 0 || begin + text.length - last > SLICE_LENGTH_MAX || ends.length > itemsMax) return malformed;
  const around = parseXml(text.slice(0, begin) + text.slice(last), rootName);
  if (!around.ok) return around;
  const children: XmlElement[] = [];
  let from = begin;
  for (const [at, to] of ends.entries()) {
    if (to - from > SLICE_LENGTH_MAX) return malformed;
    const next = ends[at + 1];
    if (next !== undefined && next - from <= SLICE_LENGTH_MAX) continue;
    const slice = parseXml(`<${rootName}>${text.slice(from, to)}</${rootName}>`, rootName);
    if (!slice.ok) return slice;
    children.push(...slice.value.children);
    from = to;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  return ok({ ...around.value, children: [...children, ...around.value.children] });
}

export type { XmlElement } from '../../../shared/xml/xml-reader.ts';

export const childrenOf = (parent: XmlElement, name: string): XmlElement[] =>
  parent.children.filter((child) => child.name === name);

export const childOf = (parent: XmlElement, name: string): XmlElement | null =>
  parent.children.find((child) => child.name === name) ?? null;

/** @returns the text of the child element with this name, or null when there is none. */
export const textOf = (parent: XmlElement, name: string): string | null => childOf(parent, name)?.text ?? null;

/** The texts of all child elements with this name. */
export const textsOf = (parent: XmlElement, name: string): string[] => childrenOf(parent, name).map(({ text }) => text);
