/**
 * The lifecycle configuration of a bucket (PutBucketLifecycleConfiguration, GetBucketLifecycleConfiguration). Rules select by
 * `Filter`, or by `Prefix` in the first version of the API.
 *
 * Gaps: transitions are refused by name, because there is one storage class.
 * By design: an empty `Prefix` beside one other condition of a `Filter` is accepted. S3 refuses it, but it selects the same
 * objects, and tools send it.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { LifecycleConfiguration, LifecycleFilter, LifecycleRule } from '../../domain/lifecycle.ts';
import { DAY_MS, NEWER_VERSIONS_MAX } from '../../domain/lifecycle.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import { childOf, childrenOf, parseXml, textOf, type XmlElement } from '../protocol/xml-parser.ts';
import { readTags } from './tag-document.ts';

/**
 * Values of the default minimum object size of transitions. It affects transitions only, so it is stored and returned but not used.
 * The first value is the default.
 */
export const MINIMUM_SIZES: readonly [string, string] = ['all_storage_classes_128K', 'varies_by_storage_class'];
export const MINIMUM_SIZE_HEADER = 'x-amz-transition-default-minimum-object-size';

const RULES_MAX = 1_000;
const ID_CHARACTERS_MAX = 255;
const PREFIX_BYTES_MAX = 1_024;
const TAGS_MAX = 10;

const MALFORMED = err(s3Failure('MalformedXML'));
const invalid = (message: string) => err(s3Failure('InvalidArgument', message));
const refused = (message: string) => err(s3Failure('InvalidRequest', message));

/** Parses a lifecycle configuration. @param mintId creates an ID for a rule without one. */
export function parseLifecycle(text: string, mintId: () => string): Result<readonly LifecycleRule[], S3Failure> {
  const root = parseXml(text, 'LifecycleConfiguration');
  if (!root.ok) return root;
  const nodes = childrenOf(root.value, 'Rule');
  if (nodes.length === 0 || nodes.length > RULES_MAX) return MALFORMED;
  const rules: LifecycleRule[] = [];
  const ids = new Set<string>();
  for (const node of nodes) {
    const rule = parseRule(node, mintId);
    if (!rule.ok) return rule;
    if (ids.has(rule.value.id)) return invalid('Rule ID must be unique. Found same ID for more than one rule');
    ids.add(rule.value.id);
    rules.push(rule.value);
  }
  if (new Set(rules.map(({ form }) => form === 'prefix')).size > 1) {
    return refused('Base level prefix cannot be used in Lifecycle V2, prefixes are only supported in the Filter.');
  }
  return ok(rules);
}

function parseRule(node: XmlElement, mintId: () => string): Result<LifecycleRule, S3Failure> {
  const id = textOf(node, 'ID') || mintId();
  if ([...id].length > ID_CHARACTERS_MAX) return invalid('ID length should not exceed allowed limit of 255');
  const status = textOf(node, 'Status');
  if (status !== 'Enabled' && status !== 'Disabled') return MALFORMED;
  const selected = parseSelection(node);
  if (!selected.ok) return selected;
  const actions = parseActions(node, selected.value.form);
  if (!actions.ok) return actions;
  const { filter } = selected.value;
  const { expiration, abortAfterDays } = actions.value;
  const isByFacts: readonly [string, boolean][] = [
    ['Tags', filter.tags !== undefined],
    ['ObjectSize', filter.sizeAbove !== undefined || filter.sizeBelow !== undefined],
  ];
  for (const [facts, isUsed] of isByFacts) {
    if (!isUsed) continue;
    if (abortAfterDays !== undefined) {
      return refused(`AbortIncompleteMultipartUpload cannot be specified with ${facts}.`);
    }
    if (expiration && 'expiredMarker' in expiration) {
      return refused(`ExpiredObjectDeleteMarker cannot be specified with ${facts}.`);
    }
  }
  return ok({ id, isEnabled: status === 'Enabled', ...selected.value, ...actions.value });
}

type Selection = Pick<LifecycleRule, 'filter' | 'form'>;

function parseSelection(node: XmlElement): Result<Selection, S3Failure> {
  const [prefix, filter] = [childOf(node, 'Prefix'), childOf(node, 'Filter')];
  if ((prefix === null) === (filter === null)) return MALFORMED;
  if (prefix !== null) return toSelection('prefix', parseConditions(node));
  const parts = (filter as XmlElement).children.filter(({ name, text }) => name !== 'Prefix' || text !== '');
  const and = childOf(filter as XmlElement, 'And');
  if (parts.length > 1) return MALFORMED;
  if (and === null) return toSelection('one', parseConditions(filter as XmlElement));
  return and.children.length < 2 ? MALFORMED : toSelection('and', parseConditions(and));
}

const toSelection = (
  form: LifecycleRule['form'],
  filter: Result<LifecycleFilter, S3Failure>,
): Result<Selection, S3Failure> => (filter.ok ? ok({ form, filter: filter.value }) : filter);

function parseConditions(node: XmlElement): Result<LifecycleFilter, S3Failure> {
  const prefix = textOf(node, 'Prefix');
  if (Buffer.byteLength(prefix ?? '') > PREFIX_BYTES_MAX) return refused('The maximum size of a prefix is 1024.');
  const isRule = node.name === 'Rule';
  const list = isRule ? [] : childrenOf(node, 'Tag');
  if (new Set(list.map((tag) => textOf(tag, 'Key'))).size < list.length) {
    return refused('Duplicate Tag Keys are not allowed.');
  }
  const tags = readTags({ ...node, children: list }, TAGS_MAX);
  if (!tags.ok) return tags;
  const above = parseSize(isRule ? null : textOf(node, 'ObjectSizeGreaterThan'));
  const below = parseSize(isRule ? null : textOf(node, 'ObjectSizeLessThan'));
  if (above === undefined || below === undefined || below === 0) return MALFORMED;
  if (above !== null && below !== null && below <= above) {
    return refused("'ObjectSizeLessThan' has to be a value greater than 'ObjectSizeGreaterThan'.");
  }
  return ok({
    ...(prefix === null ? {} : { prefix }),
    ...(tags.value.length === 0 ? {} : { tags: Object.fromEntries(tags.value.map(({ key, value }) => [key, value])) }),
    ...(above === null ? {} : { sizeAbove: above }),
    ...(below === null ? {} : { sizeBelow: below }),
  });
}

/** Parses a size in bytes. @returns null if the element is absent; undefined if its text is not a size. */
const parseSize = (text: string | null): number | null | undefined =>
  text === null ? null : /^\d{1,15}$/.test(text.trim()) ? Number(text) : undefined;

type Actions = Pick<LifecycleRule, 'expiration' | 'noncurrent' | 'abortAfterDays'>;

function parseActions(node: XmlElement, form: LifecycleRule['form']): Result<Actions, S3Failure> {
  const [expiration, noncurrent, abort] = [
    childOf(node, 'Expiration'),
    childOf(node, 'NoncurrentVersionExpiration'),
    childOf(node, 'AbortIncompleteMultipartUpload'),
  ];
  const transitions = [...childrenOf(node, 'Transition'), ...childrenOf(node, 'NoncurrentVersionTransition')];
  const actions: { -readonly [K in keyof Actions]: Actions[K] } = {};
  if (expiration) {
    const parsed = parseExpiration(expiration);
    if (!parsed.ok) return parsed;
    actions.expiration = parsed.value;
  }
  if (noncurrent) {
    const parsed = parseNoncurrent(noncurrent, form);
    if (!parsed.ok) return parsed;
    actions.noncurrent = parsed.value;
  }
  if (abort) {
    const days = toPositive(textOf(abort, 'DaysAfterInitiation'));
    if (days === null) return invalid(mustBePositive('DaysAfterInitiation', 'AbortIncompleteMultipartUpload'));
    actions.abortAfterDays = days;
  }
  if (transitions.length > 0) return refuseTransitions(transitions);
  if (Object.keys(actions).length === 0) return refused('At least one action needs to be specified in a rule.');
  return ok(actions);
}

function parseExpiration(node: XmlElement): Result<LifecycleRule['expiration'], S3Failure> {
  const [days, date, marker] = [textOf(node, 'Days'), textOf(node, 'Date'), textOf(node, 'ExpiredObjectDeleteMarker')];
  if ([days, date, marker].filter((text) => text !== null).length !== 1) return MALFORMED;
  if (days !== null) {
    const count = toPositive(days);
    return count === null ? invalid(mustBePositive('Days', 'Expiration')) : ok({ days: count });
  }
  if (date !== null) {
    const dateMs = parseDate(date);
    return dateMs.ok ? ok({ dateMs: dateMs.value }) : dateMs;
  }
  return marker === 'true' || marker === 'false' ? ok({ expiredMarker: marker === 'true' }) : MALFORMED;
}

/** Parses an ISO 8601 date; it is in UTC if it has no offset. */
function parseDate(text: string): Result<number, S3Failure> {
  const match = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?$/.exec(text.trim());
  const time = match ? Date.parse(`${match[1]}${match[2] ?? 'T00:00:00'}${match[3] ?? 'Z'}`) : Number.NaN;
  if (Number.isNaN(time)) return MALFORMED;
  return time % DAY_MS === 0 ? ok(time) : invalid("'Date' must be at midnight GMT");
}

function parseNoncurrent(
  node: XmlElement,
  form: LifecycleRule['form'],
): Result<NonNullable<LifecycleRule['noncurrent']>, S3Failure> {
  const days = toPositive(textOf(node, 'NoncurrentDays'));
  if (days === null) return invalid(mustBePositive('NoncurrentDays', 'NoncurrentVersionExpiration'));
  const newer = textOf(node, 'NewerNoncurrentVersions');
  if (newer === null) return ok({ days, newerVersions: null });
  if (form === 'prefix') return refused('NewerNoncurrentVersions element can only be used in Lifecycle V2.');
  const newerVersions = toPositive(newer);
  if (newerVersions === null || newerVersions > NEWER_VERSIONS_MAX) {
    return invalid("'NewerNoncurrentVersions' must be an integer from 1 to 100");
  }
  return ok({ days, newerVersions });
}

function refuseTransitions(transitions: readonly XmlElement[]): Result<never, S3Failure> {
  for (const transition of transitions) {
    const date = textOf(transition, 'Date');
    const parsed = date === null ? ok(0) : parseDate(date);
    if (!parsed.ok) return parsed;
  }
  return err(s3Failure('NotImplemented', 'Transitions to other storage classes are not implemented.'));
}

/** Parses a positive integer of at most 2^31 - 1, the range of the SDKs. */
function toPositive(text: string | null): number | null {
  const count = /^\d{1,10}$/.test(text?.trim() ?? '') ? Number(text) : 0;
  return count >= 1 && count < 2 ** 31 ? count : null;
}

const mustBePositive = (name: string, action: string): string =>
  `'${name}' for ${action} action must be a positive integer`;

export const toLifecycleElements = ({ rules }: LifecycleConfiguration): XmlNode[] =>
  rules.map((rule) =>
    element('Rule', [
      element('ID', rule.id),
      toSelectionElement(rule),
      element('Status', rule.isEnabled ? 'Enabled' : 'Disabled'),
      ...toActionElements(rule),
    ]),
  );

function toSelectionElement({ form, filter }: LifecycleRule): XmlNode {
  const parts = [
    element('Prefix', filter.prefix),
    ...Object.entries(filter.tags ?? {}).map(([key, value]) =>
      element('Tag', [element('Key', key), element('Value', value)]),
    ),
    element('ObjectSizeGreaterThan', filter.sizeAbove),
    element('ObjectSizeLessThan', filter.sizeBelow),
  ];
  if (form === 'prefix') return element('Prefix', filter.prefix);
  return element('Filter', form === 'and' ? element('And', parts) : parts);
}

function toActionElements({ expiration, noncurrent, abortAfterDays }: LifecycleRule): XmlNode[] {
  const nodes: XmlNode[] = [];
  if (expiration) nodes.push(element('Expiration', toExpirationElement(expiration)));
  if (noncurrent) {
    nodes.push(
      element('NoncurrentVersionExpiration', [
        element('NoncurrentDays', noncurrent.days),
        element('NewerNoncurrentVersions', noncurrent.newerVersions),
      ]),
    );
  }
  if (abortAfterDays !== undefined) {
    nodes.push(element('AbortIncompleteMultipartUpload', element('DaysAfterInitiation', abortAfterDays)));
  }
  return nodes;
}

function toExpirationElement(expiration: NonNullable<LifecycleRule['expiration']>): XmlNode {
  if ('days' in expiration) return element('Days', expiration.days);
  if ('dateMs' in expiration) return element('Date', new Date(expiration.dateMs).toISOString());
  return element('ExpiredObjectDeleteMarker', expiration.expiredMarker);
}
