/** Writes answers of WebDAV: multistatus documents (RFC 4918 §13) in parts, and errors with their precondition (§16). */

export const DAV = 'DAV:';
export const CARDDAV = 'urn:ietf:params:xml:ns:carddav';
export const CALENDARSERVER = 'http://calendarserver.org/ns/';

const PREFIXES: Readonly<Record<string, string>> = { [DAV]: 'd', [CARDDAV]: 'card', [CALENDARSERVER]: 'cs' };
const DECLARED = `xmlns:d="${DAV}" xmlns:card="${CARDDAV}" xmlns:cs="${CALENDARSERVER}"`;
const HEAD = '<?xml version="1.0" encoding="utf-8"?>\n';
export const XML_TYPE = 'application/xml; charset=utf-8';

/** Name of a property or of another element. */
export interface QualifiedName {
  readonly namespace: string;
  readonly name: string;
}

/** Value of a property, as XML. */
export interface Property extends QualifiedName {
  readonly xml: string;
}

/** Escapes text. A CR would become an LF in the reader, so it is a reference (XML 1.0 §2.11). */
export const escapeXml = (text: string): string => text.replace(/[&<>"\r]/g, (char) => ESCAPES[char] ?? char);
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#13;',
};

function toElement({ namespace, name }: QualifiedName, xml: string): string {
  const prefix = PREFIXES[namespace];
  const tag = prefix === undefined ? `x:${name}` : `${prefix}:${name}`;
  const declared = prefix === undefined ? ` xmlns:x="${escapeXml(namespace)}"` : '';
  return xml === '' ? `<${tag}${declared}/>` : `<${tag}${declared}>${xml}</${tag}>`;
}

/** An element without a namespace has no prefix. */
const toAnyElement = (name: QualifiedName, xml: string): string =>
  name.namespace === '' ? `<${name.name}>${xml}</${name.name}>` : toElement(name, xml);

export const toHref = (path: string): string => `<d:href>${escapeXml(path)}</d:href>`;

const STATUS = { 200: 'OK', 404: 'Not Found', 507: 'Insufficient Storage' } as const;
const toStatus = (status: keyof typeof STATUS): string => `<d:status>HTTP/1.1 ${status} ${STATUS[status]}</d:status>`;

/** Writes what is known of a resource. @param absent properties that it does not have. */
export function toResponse(path: string, found: readonly Property[], absent: readonly QualifiedName[]): string {
  const toPropstat = (properties: readonly string[], status: 200 | 404): string =>
    properties.length === 0
      ? ''
      : `<d:propstat><d:prop>${properties.join('')}</d:prop>${toStatus(status)}</d:propstat>`;
  const present = toPropstat(
    found.map((property) => toElement(property, property.xml)),
    200,
  );
  const missing = toPropstat(
    absent.map((name) => toAnyElement(name, '')),
    404,
  );
  const none = present + missing === '' ? `<d:propstat><d:prop/>${toStatus(200)}</d:propstat>` : '';
  return `<d:response>${toHref(path)}${present}${missing}${none}</d:response>`;
}

export const toStatusResponse = (path: string, status: 404 | 507): string =>
  `<d:response>${toHref(path)}${toStatus(status)}</d:response>`;

/** Answers with a multistatus whose parts are made one after another, so that a large book is never in memory as a whole. */
export async function sendMultistatus(parts: AsyncIterator<string>): Promise<Response> {
  const encoder = new TextEncoder();
  // An error of the first part is still an answer of its own.
  const first = await parts.next();
  const begin = `${HEAD}<d:multistatus ${DECLARED}>${first.done ? '' : first.value}`;
  let isBegun = false;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (!isBegun) {
        isBegun = true;
        return controller.enqueue(encoder.encode(begin));
      }
      const next = first.done ? first : await parts.next();
      controller.enqueue(encoder.encode(next.done ? '</d:multistatus>' : next.value));
      if (next.done) controller.close();
    },
    cancel: async () => {
      await parts.return?.();
    },
  });
  return new Response(body, { status: 207, headers: { 'content-type': XML_TYPE } });
}

/** Answers with the precondition that failed, by its name. */
export const sendPrecondition = (status: 403 | 409 | 412 | 415 | 507, condition: QualifiedName, xml = ''): Response =>
  new Response(`${HEAD}<d:error ${DECLARED}>${toElement(condition, xml)}</d:error>`, {
    status,
    headers: { 'content-type': XML_TYPE },
  });
