/** Reads and writes ACLs in their stored form (JSON), in requests (canned, grant headers, XML) and in answers. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import {
  ACL_PERMISSIONS,
  type Acl,
  type AclPermission,
  GROUPS,
  type Grant,
  type Grantee,
  isCannedAcl,
  type Owner,
  toCannedGrants,
} from '../../domain/acl.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { Users } from '../protocol/operation.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import { childOf, childrenOf, parseXml, textOf, type XmlElement } from '../protocol/xml-parser.ts';

export const serializeAcl = (acl: Acl): string => JSON.stringify(acl);

/** Reads a stored ACL. @param text the stored form; null for a private ACL of the owner. */
export function readAcl(text: string | null | undefined, owner: Owner): Acl {
  if (text) return JSON.parse(text) as Acl;
  return { owner, grants: toCannedGrants('private', owner, owner) };
}

const GRANT_HEADERS: readonly (readonly [name: string, permission: AclPermission])[] = [
  ['x-amz-grant-read', 'READ'],
  ['x-amz-grant-write', 'WRITE'],
  ['x-amz-grant-read-acp', 'READ_ACP'],
  ['x-amz-grant-write-acp', 'WRITE_ACP'],
  ['x-amz-grant-full-control', 'FULL_CONTROL'],
];

export const hasAclHeaders = (headers: { get(name: string): string | null }): boolean =>
  headers.get('x-amz-acl') !== null || GRANT_HEADERS.some(([name]) => headers.get(name) !== null);

/** Parses the ACL in the headers of a request, canned or as grants. @returns null when the headers have none. */
export async function parseAclHeaders(
  headers: { get(name: string): string | null },
  owner: Owner,
  bucketOwner: Owner,
  users: Users,
): Promise<Result<Acl | null, S3Failure>> {
  const canned = headers.get('x-amz-acl');
  const given = GRANT_HEADERS.filter(([name]) => headers.get(name) !== null);
  if (canned !== null) {
    if (given.length > 0) {
      return err(s3Failure('InvalidRequest', 'Specifying both Canned ACLs and Header Grants is not allowed'));
    }
    if (!isCannedAcl(canned)) return err(invalidArgument('x-amz-acl', canned, ''));
    return ok({ owner, grants: toCannedGrants(canned, owner, bucketOwner) });
  }
  if (given.length === 0) return ok(null);
  const grants: Grant[] = [];
  for (const [name, permission] of given) {
    for (const part of (headers.get(name) ?? '').split(',')) {
      const match = /^\s*(id|uri|emailAddress)\s*=\s*"?([^"]*?)"?\s*$/i.exec(part);
      if (!match) return err(invalidArgument(name, headers.get(name) ?? '', 'Argument format not recognized'));
      const grantee = await resolveGrantee((match[1] ?? '').toLowerCase(), match[2] ?? '', users);
      if (!grantee.ok) return grantee;
      grants.push({ grantee: grantee.value, permission });
    }
  }
  return ok({ owner, grants });
}

async function resolveGrantee(kind: string, value: string, users: Users): Promise<Result<Grantee, S3Failure>> {
  if (kind === 'uri') {
    return GROUPS.includes(value)
      ? ok({ kind: 'group', uri: value })
      : err(invalidArgument('uri', value, 'Invalid group uri'));
  }
  if (kind === 'id') {
    const user = await users.findById(value);
    return user
      ? ok({ kind: 'user', id: user.userId, displayName: user.name })
      : err(invalidArgument('CanonicalUser/ID', value, 'Invalid id'));
  }
  const [user, another] = await users.findByEmail(value);
  if (!user || another) {
    return err(s3Failure('UnresolvableGrantByEmailAddress', undefined, { details: { EmailAddress: value } }));
  }
  return ok({ kind: 'user', id: user.userId, displayName: user.name });
}

/**
 * Parses an `AccessControlPolicy` document. It must name the current owner, because an ACL cannot transfer ownership.
 */
export async function parseAclDocument(text: string, owner: Owner, users: Users): Promise<Result<Acl, S3Failure>> {
  const malformed = err(s3Failure('MalformedACLError'));
  const root = parseXml(text, 'AccessControlPolicy');
  if (!root.ok) return root.error.code === 'MissingRequestBodyError' ? root : malformed;
  const list = childOf(root.value, 'AccessControlList');
  const ownerElement = childOf(root.value, 'Owner');
  if (!list || !ownerElement) return malformed;
  const ownerId = textOf(ownerElement, 'ID');
  if (ownerId !== null && ownerId !== owner.id) return err(s3Failure('AccessDenied'));
  const grants: Grant[] = [];
  for (const item of childrenOf(list, 'Grant')) {
    const permission = ACL_PERMISSIONS.find((name) => name === textOf(item, 'Permission'));
    const granteeElement = childOf(item, 'Grantee');
    if (!permission || !granteeElement) return malformed;
    const grantee = await parseGrantee(granteeElement, users);
    if (!grantee.ok) return grantee;
    grants.push({ grantee: grantee.value, permission });
  }
  if (grants.length > ACL_GRANTS_MAX) return malformed;
  return ok({ owner, grants });
}

/** Maximum number of grants of an ACL (Amazon S3 User Guide: "An ACL can have up to 100 grants"). */
const ACL_GRANTS_MAX = 100;

function parseGrantee(grantee: XmlElement, users: Users): Promise<Result<Grantee, S3Failure>> {
  const [id, uri, email] = [textOf(grantee, 'ID'), textOf(grantee, 'URI'), textOf(grantee, 'EmailAddress')];
  if (id !== null) return resolveGrantee('id', id, users);
  if (uri !== null) return resolveGrantee('uri', uri, users);
  if (email !== null) return resolveGrantee('emailaddress', email, users);
  return Promise.resolve(err(s3Failure('MalformedACLError')));
}

export function toAclElements(acl: Acl): XmlNode[] {
  return [
    toOwnerElement(acl.owner),
    element(
      'AccessControlList',
      acl.grants.map(({ grantee, permission }) =>
        element('Grant', [
          grantee.kind === 'user'
            ? element(
                'Grantee',
                [element('ID', grantee.id), element('DisplayName', grantee.displayName)],
                `${XSI} xsi:type="CanonicalUser"`,
              )
            : element('Grantee', element('URI', grantee.uri), `${XSI} xsi:type="Group"`),
          element('Permission', permission),
        ]),
      ),
    ),
  ];
}

const XSI = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';

export const toOwnerElement = (owner: Owner, name = 'Owner'): XmlNode =>
  element(name, [element('ID', owner.id), element('DisplayName', owner.displayName)]);
