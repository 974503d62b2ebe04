/** The CORS configuration of a bucket in XML. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type CorsRule, checkCorsRules } from '../../domain/cors.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import { childrenOf, parseXml, textOf, textsOf } from '../protocol/xml-parser.ts';

export function parseCors(text: string): Result<readonly CorsRule[], S3Failure> {
  const root = parseXml(text, 'CORSConfiguration');
  if (!root.ok) return root;
  const rules: CorsRule[] = [];
  for (const item of childrenOf(root.value, 'CORSRule')) {
    const maxAge = textOf(item, 'MaxAgeSeconds');
    if (maxAge !== null && !/^-?\d{1,9}$/.test(maxAge)) return err(s3Failure('MalformedXML'));
    rules.push({
      id: textOf(item, 'ID'),
      allowedOrigins: textsOf(item, 'AllowedOrigin'),
      allowedMethods: textsOf(item, 'AllowedMethod'),
      allowedHeaders: textsOf(item, 'AllowedHeader'),
      exposeHeaders: textsOf(item, 'ExposeHeader'),
      maxAgeSeconds: maxAge === null ? null : Number(maxAge),
    });
  }
  const checked = checkCorsRules(rules);
  return checked.ok ? ok(rules) : checked;
}

export const toCorsElements = (rules: readonly CorsRule[]): XmlNode[] =>
  rules.map((rule) =>
    element('CORSRule', [
      element('ID', rule.id),
      ...rule.allowedMethods.map((method) => element('AllowedMethod', method)),
      ...rule.allowedOrigins.map((origin) => element('AllowedOrigin', origin)),
      ...rule.allowedHeaders.map((header) => element('AllowedHeader', header)),
      ...rule.exposeHeaders.map((header) => element('ExposeHeader', header)),
      element('MaxAgeSeconds', rule.maxAgeSeconds),
    ]),
  );
