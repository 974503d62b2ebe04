/** Properties of the resources of CardDAV: those of WebDAV, of ACL (RFC 3744), of sync (RFC 6578), and of RFC 6352 §6. */
import type { Card, CardChangePlace } from '../../../durable-objects/mail/contract/cards.ts';
import {
  CALENDARSERVER,
  CARDDAV,
  DAV,
  escapeXml,
  type Property,
  type QualifiedName,
  toHref,
  toResponse,
} from './multistatus.ts';
import { type Place, ROOT, toBookPath, toCardPath, toHomePath, toPrincipalPath } from './places.ts';
import type { Wanted } from './requests.ts';

/** Maximum size of a card. A photograph of a phone has up to about 200 KB in Base64. */
export const CARD_BYTES_MAX = 512 * 1024;
/** Whose resources they are. */
export interface Owner {
  readonly accountId: string;
  readonly name: string;
}

export const toEtag = (state: number): string => `"${state}"`;
const TOKEN = 'urn:tessera:contacts:';

/** Writes the place of the last change that a program knows. A whole state has no name. */
export const toSyncToken = ({ state, name }: CardChangePlace): string =>
  `${TOKEN}${state}${name === '' ? '' : `:${encodeURIComponent(name)}`}`;

/** @returns the place of a token; null if this server did not make it. The empty token of a first request is place 0. */
export function parseSyncToken(token: string): CardChangePlace | null {
  if (token === '') return { state: 0, name: '' };
  const [, state, name] = /^urn:tessera:contacts:(\d{1,15})(?::([\w.!~*'()%-]{1,2000}))?$/.exec(token) ?? [];
  if (state === undefined) return null;
  try {
    return { state: Number(state), name: decodeURIComponent(name ?? '') };
  } catch {
    return null;
  }
}

const dav = (name: string, xml: string): Property => ({ namespace: DAV, name, xml });
const carddav = (name: string, xml: string): Property => ({ namespace: CARDDAV, name, xml });

const REPORTS = ['card:addressbook-multiget', 'card:addressbook-query', 'd:sync-collection']
  .map((name) => `<d:supported-report><d:report><${name}/></d:report></d:supported-report>`)
  .join('');
const PRIVILEGES = ['read', 'write', 'write-content', 'write-properties', 'bind', 'unbind']
  .map((name) => `<d:privilege><d:${name}/></d:privilege>`)
  .join('');
const CARD_TYPES = ['3.0', '4.0']
  .map((version) => `<card:address-data-type content-type="text/vcard" version="${version}"/>`)
  .join('');

const ofEvery = ({ accountId }: Owner): Property[] => [
  dav('current-user-principal', toHref(toPrincipalPath(accountId))),
  dav('principal-URL', toHref(toPrincipalPath(accountId))),
  dav('owner', toHref(toPrincipalPath(accountId))),
  dav('principal-collection-set', toHref(ROOT)),
  dav('current-user-privilege-set', PRIVILEGES),
  carddav('addressbook-home-set', toHref(toHomePath(accountId))),
];

const COLLECTION = '<d:collection/>';

export const rootProperties = (owner: Owner): Property[] => [
  dav('resourcetype', COLLECTION),
  dav('displayname', 'Tessera'),
  ...ofEvery(owner),
];
export const principalProperties = (owner: Owner): Property[] => [
  dav('resourcetype', `${COLLECTION}<d:principal/>`),
  dav('displayname', escapeXml(owner.name)),
  ...ofEvery(owner),
];
export const homeProperties = (owner: Owner): Property[] => [
  dav('resourcetype', COLLECTION),
  dav('displayname', 'Address books'),
  ...ofEvery(owner),
];

/** @param state number of the last change of a card. */
export const bookProperties = (owner: Owner, state: number): Property[] => [
  dav('resourcetype', `${COLLECTION}<card:addressbook/>`),
  dav('displayname', 'Contacts'),
  dav('sync-token', toSyncToken({ state, name: '' })),
  { namespace: CALENDARSERVER, name: 'getctag', xml: toSyncToken({ state, name: '' }) },
  dav('supported-report-set', REPORTS),
  carddav('addressbook-description', 'Contacts of the mailbox'),
  carddav('supported-address-data', CARD_TYPES),
  carddav('max-resource-size', String(CARD_BYTES_MAX)),
  carddav('supported-collation-set', '<card:supported-collation>i;unicode-casemap</card:supported-collation>'),
  ...ofEvery(owner),
];

export const cardProperties = (owner: Owner, { state, sizeBytes, vcard }: Card): Property[] => [
  dav('resourcetype', ''),
  dav('getetag', escapeXml(toEtag(state))),
  dav('getcontenttype', 'text/vcard; charset=utf-8'),
  dav('getcontentlength', String(sizeBytes)),
  ...(vcard === null ? [] : [carddav('address-data', escapeXml(vcard))]),
  ...ofEvery(owner),
];

const keyOf = ({ namespace, name }: QualifiedName): string => `${namespace} ${name}`;
/** Properties of RFC 4918, which a request for all receives. All others must be named (RFC 4918 §9.1). */
const UNASKED = new Set(
  ['resourcetype', 'displayname', 'getetag', 'getcontenttype', 'getcontentlength'].map((name) =>
    keyOf({ namespace: DAV, name }),
  ),
);

/** Writes the properties of a resource that a request asks for. */
export function describe(path: string, properties: readonly Property[], wanted: Wanted): string {
  const known = new Map(properties.map((property) => [keyOf(property), property]));
  if (wanted === 'all' || wanted === 'names') {
    const found = properties.filter((property) => UNASKED.has(keyOf(property)));
    const names = properties.map((property) => ({ ...property, xml: '' }));
    return toResponse(path, wanted === 'names' ? names : found, []);
  }
  const found = wanted.flatMap((name) => known.get(keyOf(name)) ?? []);
  return toResponse(
    path,
    found,
    wanted.filter((name) => !known.has(keyOf(name))),
  );
}

/** Whether a request asks for the cards themselves. */
export const wantsText = (wanted: Wanted): boolean =>
  typeof wanted !== 'string' && wanted.some(({ namespace, name }) => namespace === CARDDAV && name === 'address-data');

export const describeCard = (owner: Owner, card: Card, wanted: Wanted): string =>
  describe(toCardPath(owner.accountId, card.name), cardProperties(owner, card), wanted);

/** Properties of a collection. */
export function describeCollection(owner: Owner, kind: Exclude<Place['kind'], 'card'>, wanted: Wanted, state: number) {
  const { accountId } = owner;
  switch (kind) {
    case 'root':
      return describe(ROOT, rootProperties(owner), wanted);
    case 'principal':
      return describe(toPrincipalPath(accountId), principalProperties(owner), wanted);
    case 'home':
      return describe(toHomePath(accountId), homeProperties(owner), wanted);
    case 'book':
      return describe(toBookPath(accountId), bookProperties(owner, state), wanted);
  }
}
