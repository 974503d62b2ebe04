/**
 * The settings of a bucket that S3 stores as documents: CORS, Object Lock and the policy. Lifecycle and events are in
 * bucket-rules.ts.
 */
import { type Key, S3Error, s3 } from './s3.ts';
import { childrenOf, type Element, escapeXml, parseXml, textOf } from './xml.ts';

export const NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';

/** Reads one document. @returns null if the bucket has no such document. S3 answers 404 then. */
export async function readDocument(key: Key, bucket: string, name: string): Promise<string | null> {
  try {
    return await (await s3(key, { bucket, query: { [name]: '' } })).text();
  } catch (error) {
    if (error instanceof S3Error && error.status === 404 && error.code !== 'NoSuchBucket') return null;
    throw error;
  }
}

export const writeDocument = (key: Key, bucket: string, name: string, body: string): Promise<Response> =>
  s3(key, { method: 'PUT', bucket, query: { [name]: '' }, body });

export const deleteDocument = (key: Key, bucket: string, name: string): Promise<Response> =>
  s3(key, { method: 'DELETE', bucket, query: { [name]: '' } });

export interface CorsRule {
  origins: string[];
  methods: string[];
  headers: string[];
  expose: string[];
  maxAgeSeconds: string;
}

const textsOf = (rule: Element, name: string): string[] => childrenOf(rule, name).map(({ text }) => text);
const toElements = (name: string, texts: readonly string[]): string =>
  texts.map((text) => `<${name}>${escapeXml(text)}</${name}>`).join('');

export async function readCors(key: Key, bucket: string): Promise<CorsRule[]> {
  const text = await readDocument(key, bucket, 'cors');
  if (text === null) return [];
  return childrenOf(parseXml(text), 'CORSRule').map((rule) => ({
    origins: textsOf(rule, 'AllowedOrigin'),
    methods: textsOf(rule, 'AllowedMethod'),
    headers: textsOf(rule, 'AllowedHeader'),
    expose: textsOf(rule, 'ExposeHeader'),
    maxAgeSeconds: textOf(rule, 'MaxAgeSeconds'),
  }));
}

/** Writes the CORS rules. Without rules, the CORS document is deleted. */
export function writeCors(key: Key, bucket: string, rules: readonly CorsRule[]): Promise<Response> {
  if (rules.length === 0) return deleteDocument(key, bucket, 'cors');
  const elements = rules.map(
    (rule) =>
      `<CORSRule>${toElements('AllowedOrigin', rule.origins)}${toElements('AllowedMethod', rule.methods)}${toElements('AllowedHeader', rule.headers)}${toElements('ExposeHeader', rule.expose)}${rule.maxAgeSeconds ? `<MaxAgeSeconds>${escapeXml(rule.maxAgeSeconds)}</MaxAgeSeconds>` : ''}</CORSRule>`,
  );
  return writeDocument(key, bucket, 'cors', `<CORSConfiguration ${NAMESPACE}>${elements.join('')}</CORSConfiguration>`);
}

export type LockMode = 'GOVERNANCE' | 'COMPLIANCE';
/** Default retention of new object versions (Object Lock). */
export interface Retention {
  mode: LockMode;
  period: string;
  unit: 'Days' | 'Years';
}
export interface Lock {
  retention: Retention | null;
}

/** Reads the Object Lock settings. @returns null if the bucket has no Object Lock. */
export async function readLock(key: Key, bucket: string): Promise<Lock | null> {
  const text = await readDocument(key, bucket, 'object-lock');
  if (text === null) return null;
  const rule = childrenOf(parseXml(text), 'Rule')[0];
  const retention = rule && childrenOf(rule, 'DefaultRetention')[0];
  if (!retention) return { retention: null };
  const years = textOf(retention, 'Years');
  return {
    retention: {
      mode: textOf(retention, 'Mode') as LockMode,
      period: years || textOf(retention, 'Days'),
      unit: years ? 'Years' : 'Days',
    },
  };
}

export function writeLock(key: Key, bucket: string, { retention }: Lock): Promise<Response> {
  const rule =
    retention &&
    `<Rule><DefaultRetention><Mode>${retention.mode}</Mode><${retention.unit}>${escapeXml(retention.period)}</${retention.unit}></DefaultRetention></Rule>`;
  return writeDocument(
    key,
    bucket,
    'object-lock',
    `<ObjectLockConfiguration ${NAMESPACE}><ObjectLockEnabled>Enabled</ObjectLockEnabled>${rule ?? ''}</ObjectLockConfiguration>`,
  );
}

/** Reads the bucket policy. @returns its text as it was stored; empty without a policy. */
export async function readPolicy(key: Key, bucket: string): Promise<string> {
  const text = await readDocument(key, bucket, 'policy');
  if (text === null) return '';
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Writes the bucket policy. An empty text deletes it. */
export const writePolicy = (key: Key, bucket: string, text: string): Promise<Response> =>
  text.trim() === '' ? deleteDocument(key, bucket, 'policy') : writeDocument(key, bucket, 'policy', text);
