/** The website configuration of a bucket in XML. Routing rules are refused. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { Website } from '../../domain/website.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import { childOf, parseXml, textOf, type XmlElement } from '../protocol/xml-parser.ts';

const MALFORMED = err(s3Failure('MalformedXML'));
const HOST = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(?::\d{1,5})?$/;

export function parseWebsite(text: string): Result<Website, S3Failure> {
  const root = parseXml(text, 'WebsiteConfiguration');
  if (!root.ok) return root;
  const [all, index, error, rules] = ['RedirectAllRequestsTo', 'IndexDocument', 'ErrorDocument', 'RoutingRules'].map(
    (name) => childOf(root.value, name),
  );
  if (rules) return err(s3Failure('NotImplemented', 'Routing rules of a website are not implemented.'));
  if (all) return index || error ? MALFORMED : parseRedirect(all);
  if (!index) {
    const message = 'A value for IndexDocument Suffix must be provided if RedirectAllRequestsTo is empty';
    return err(invalidArgument('IndexDocument', 'null', message));
  }
  const suffix = textOf(index, 'Suffix') ?? '';
  if (suffix === '' || suffix.includes('/')) {
    return err(invalidArgument('IndexDocument', suffix, 'The IndexDocument Suffix is not well formed'));
  }
  const key = error ? (textOf(error, 'Key') ?? '') : null;
  if (key === '') return err(invalidArgument('ErrorDocument', '', 'The ErrorDocument Key is not well formed'));
  return ok({ index: suffix, error: key, redirectAll: null });
}

function parseRedirect(node: XmlElement): Result<Website, S3Failure> {
  const [host, protocol] = [textOf(node, 'HostName') ?? '', textOf(node, 'Protocol')];
  if (!HOST.test(host)) return MALFORMED;
  if (protocol !== null && protocol !== 'http' && protocol !== 'https') {
    return err(s3Failure('InvalidRequest', 'Invalid protocol, protocol can be http or https.'));
  }
  return ok({ index: null, error: null, redirectAll: { host, protocol } });
}

export function toWebsiteElements({ index, error, redirectAll }: Website): XmlNode[] {
  if (redirectAll !== null) {
    const { host, protocol } = redirectAll;
    return [element('RedirectAllRequestsTo', [element('HostName', host), element('Protocol', protocol)])];
  }
  return [
    element('IndexDocument', element('Suffix', index)),
    ...(error === null ? [] : [element('ErrorDocument', element('Key', error))]),
  ];
}
