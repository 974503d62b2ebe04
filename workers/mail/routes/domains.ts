/** `/v1/domains`: hosted domains, routes of outgoing mail, DKIM keys and DNS records. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { requireOperator } from '../../identity/index.ts';
import { toAuditRow } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendPage,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import {
  createDkimKeys,
  deleteDomain,
  findDomain,
  listDnsRecords,
  listDomains,
  NO_DOMAIN,
  saveDomain,
  showTransport,
} from '../domains/domains.ts';
import { listConfiguredDomains } from '../domains/hosted-domains.ts';
import { createAccountStore } from '../store/account-store.ts';
import type { DomainRow } from '../store/domain-store.ts';
import { OPERATOR_ROUTE } from './route.ts';

const changeSchema = z
  .strictObject({
    is_hosted: z
      .boolean()
      .optional()
      .openapi({ description: 'False for a route only: the domain is not hosted. True by default.' }),
    alias_of: z
      .string()
      .max(255)
      .nullable()
      .optional()
      .openapi({
        example: 'example.test',
        description:
          'A hosted domain: mail to any address of the alias goes to the same local part there, and its owners may send from the alias. ' +
          'No new address is issued at an alias.',
      }),
    catch_all: z.string().max(320).nullable().optional(),
    transport: z
      .string()
      .max(1_000)
      .nullable()
      .optional()
      .openapi({ example: 'smtp://relay.example:587?tls=required' }),
    is_held: z.boolean().optional().openapi({ description: 'Holds mail to this domain.' }),
  })
  .openapi('DomainChange');
const newSchema = changeSchema.extend({ domain: z.string().min(1).max(255) }).openapi('NewDomain');

const domainSchema = z
  .object({
    domain: z.string(),
    is_hosted: z.boolean(),
    is_configured: z.boolean().openapi({ description: 'True if MAIL_DOMAINS hosts it.' }),
    alias_of: z.string().nullable(),
    catch_all: z.string().nullable(),
    transport: z.string().nullable(),
    is_held: z.boolean(),
  })
  .openapi('Domain');
const recordSchema = z.object({
  type: z.enum(['TXT', 'MX', 'SRV']),
  name: z.string(),
  value: z.string().nullable(),
  purpose: z.string(),
  seen: z.boolean().nullable(),
});
const detailSchema = domainSchema.extend({ dns_records: z.array(recordSchema) }).openapi('DomainDetail');
const domainParam = z.object({ domain: z.string().max(255) });

/**
 * @returns the changed members for the audit log. Omits the transport, which may contain a password, and the address of the
 * catch-all.
 */
const toChangeDetails = (change: z.infer<typeof changeSchema>) => ({
  is_hosted: change.is_hosted,
  is_held: change.is_held,
  alias_of: change.alias_of ?? (change.alias_of === null ? 'removed' : undefined),
  transport: toChange(change.transport),
  catch_all: toChange(change.catch_all),
});
const toChange = (value: string | null | undefined) =>
  value === undefined ? undefined : value === null ? 'removed' : 'set';

async function toJson(env: Env, row: DomainRow): Promise<z.infer<typeof domainSchema>> {
  const account = row.catchAllUserId
    ? await createAccountStore(userDatabaseOf(env, row.catchAllUserId)).findAccount(row.catchAllUserId)
    : null;
  return {
    domain: row.domain,
    is_hosted: row.isHosted,
    is_configured: listConfiguredDomains(env).includes(row.domain),
    alias_of: row.aliasOf,
    catch_all: account?.email ?? null,
    transport: showTransport(env, row),
    is_held: row.isHeld,
  };
}

export function addDomains(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/v1/domains',
      operationId: 'listDomains',
      summary: 'List hosted domains and routes',
      request: { query: pageQuerySchema },
      responses: { 200: jsonContent(pageSchema(domainSchema), 'A page'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      return sendPage(c, c.req.valid('query'), {
        read: (after, limit) => listDomains(c.env, after, limit),
        keyOf: (row) => row.domain,
        toItem: (row) => toJson(c.env, row),
      });
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/v1/domains',
      operationId: 'createDomain',
      summary: 'Add a hosted domain or a route',
      request: jsonBody(newSchema),
      responses: { 201: jsonContent(domainSchema, 'The domain'), ...problemResponses(400, 401, 403, 409) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { domain, ...change } = c.req.valid('json');
      const saved = await saveDomain(c.env, domain, change, (id) =>
        toAuditRow(c, 'domain.create', { type: 'domain', id }, toChangeDetails(change)),
      );
      return saved.ok ? c.json(await toJson(c.env, saved.value), 201) : sendProblem(c, saved.error);
    },
  );
  addDomain(api);
}

function addDomain(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/v1/domains/{domain}',
      operationId: 'getDomain',
      summary: 'Read a domain with the DNS records to publish, and whether DNS has them',
      request: { params: domainParam },
      responses: { 200: jsonContent(detailSchema, 'The domain'), ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const row = await findDomain(c.env, c.req.valid('param').domain);
      if (!row) return sendProblem(c, NO_DOMAIN);
      const records = row.isHosted ? await listDnsRecords(c.env, row) : [];
      return c.json({ ...(await toJson(c.env, row)), dns_records: records }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'patch',
      path: '/v1/domains/{domain}',
      operationId: 'updateDomain',
      summary: 'Change alias, catch-all, transport or hold',
      request: { params: domainParam, ...jsonBody(changeSchema) },
      responses: { 200: jsonContent(domainSchema, 'The domain'), ...problemResponses(400, 401, 403, 404, 409) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const row = await findDomain(c.env, c.req.valid('param').domain);
      if (!row) return sendProblem(c, NO_DOMAIN);
      const change = c.req.valid('json');
      const saved = await saveDomain(c.env, row.domain, change, (id) =>
        toAuditRow(c, 'domain.update', { type: 'domain', id }, toChangeDetails(change)),
      );
      return saved.ok ? c.json(await toJson(c.env, saved.value), 200) : sendProblem(c, saved.error);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'delete',
      path: '/v1/domains/{domain}',
      operationId: 'deleteDomain',
      summary: 'Delete a domain or route, and its DKIM keys',
      request: { params: domainParam },
      responses: { 204: { description: 'Deleted' }, ...problemResponses(401, 403, 404, 409) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const gone = await deleteDomain(c.env, c.req.valid('param').domain, (id) =>
        toAuditRow(c, 'domain.delete', { type: 'domain', id }),
      );
      return gone.ok ? c.body(null, 204) : sendProblem(c, gone.error);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/v1/domains/{domain}/dkim-keys',
      operationId: 'createDkimKeys',
      summary: 'Create an RSA-2048 and an Ed25519 DKIM key',
      request: { params: domainParam },
      responses: {
        201: jsonContent(detailSchema, 'The domain with the records to publish'),
        ...problemResponses(401, 403, 404),
      },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { domain } = c.req.valid('param');
      const made = await createDkimKeys(c.env, domain, (id, selectors) =>
        toAuditRow(c, 'dkim_keys.create', { type: 'domain', id }, { selectors }),
      );
      if (!made.ok) return sendProblem(c, made.error);
      const row = await findDomain(c.env, domain);
      if (!row) return sendProblem(c, NO_DOMAIN);
      return c.json({ ...(await toJson(c.env, row)), dns_records: await listDnsRecords(c.env, row) }, 201);
    },
  );
}
