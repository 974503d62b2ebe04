/** XML documents of Object Lock: the configuration of a bucket, and retention and legal hold of a version. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import {
  isLockMode,
  isRetentionPeriod,
  type LockMode,
  type ObjectLockConfiguration,
} from '../../domain/object-lock.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import { childOf, childrenOf, parseXml, textOf } from '../protocol/xml-parser.ts';

const MALFORMED = err(s3Failure('MalformedXML'));

export function parseObjectLockConfiguration(text: string): Result<ObjectLockConfiguration, S3Failure> {
  const root = parseXml(text, 'ObjectLockConfiguration');
  if (!root.ok) return root;
  if (textOf(root.value, 'ObjectLockEnabled') !== 'Enabled') return MALFORMED;
  const [rule, ...others] = childrenOf(root.value, 'Rule');
  if (others.length > 0) return MALFORMED;
  if (!rule) return ok({ defaultRetention: null });
  const retention = childOf(rule, 'DefaultRetention');
  const mode = retention && textOf(retention, 'Mode');
  if (!retention || !isLockMode(mode)) return MALFORMED;
  const [days, years] = [textOf(retention, 'Days'), textOf(retention, 'Years')];
  if ((days === null) === (years === null)) return MALFORMED;
  const [unit, count] = days === null ? (['years', Number(years)] as const) : (['days', Number(days)] as const);
  if (!isRetentionPeriod(count, unit)) return err(s3Failure('InvalidRetentionPeriod'));
  return ok({ defaultRetention: unit === 'days' ? { mode, days: count } : { mode, years: count } });
}

export function toObjectLockElements({ defaultRetention: retention }: ObjectLockConfiguration): XmlNode[] {
  const enabled = element('ObjectLockEnabled', 'Enabled');
  if (retention === null) return [enabled];
  const period = 'days' in retention ? element('Days', retention.days) : element('Years', retention.years);
  return [enabled, element('Rule', element('DefaultRetention', [element('Mode', retention.mode), period]))];
}

/** Parses a retention. @returns null for an empty document, which removes the retention. */
export function parseRetention(
  text: string,
  now: number,
): Result<{ readonly mode: LockMode; readonly retainUntilMs: number } | null, S3Failure> {
  const root = parseXml(text, 'Retention');
  if (!root.ok) return root;
  const [mode, until] = [textOf(root.value, 'Mode'), textOf(root.value, 'RetainUntilDate')];
  if (mode === null && until === null) return ok(null);
  if (!isLockMode(mode) || until === null) return MALFORMED;
  const retainUntilMs = parseRetainUntil(until, now);
  return retainUntilMs.ok ? ok({ mode, retainUntilMs: retainUntilMs.value }) : retainUntilMs;
}

/** Parses the end of a retention, an ISO 8601 date, as documents and headers have it. */
export function parseRetainUntil(text: string, now: number): Result<number, S3Failure> {
  const name = 'RetainUntilDate';
  const time = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    return err(invalidArgument(name, text, 'The retain until date must be provided in ISO 8601 format'));
  if (time <= now) return err(invalidArgument(name, text, 'The retain until date must be in the future!'));
  return ok(time);
}

export function parseLegalHold(text: string): Result<boolean, S3Failure> {
  const root = parseXml(text, 'LegalHold');
  if (!root.ok) return root;
  const status = textOf(root.value, 'Status');
  return status === 'ON' || status === 'OFF' ? ok(status === 'ON') : MALFORMED;
}
