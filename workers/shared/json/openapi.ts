/** `GET /v1/openapi.json`: the OpenAPI document of all JSON APIs, generated from the schemas that validate requests. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { settingsOf } from '../settings/settings.ts';
import { addExamples } from './api-examples.ts';
import { type JsonApiEnv, jsonContent, problemResponses, unchecked } from './json-api.ts';

const documentSchema = z.looseObject({}).openapi({
  example: { openapi: '3.1.0', info: { title: 'Tessera', version: '0.2.0' }, paths: {} },
});

const documentRoute = createRoute({
  method: 'get',
  path: '/v1/openapi.json',
  tags: ['service'],
  security: [],
  operationId: 'getApiDocument',
  summary: 'This document',
  responses: { 200: jsonContent(documentSchema, 'The OpenAPI 3.1 document of the JSON APIs') },
});

/** Adds the route of the OpenAPI document. Must be called after all routes are added. @param version version of the package. */
export function addApiDocument(api: OpenAPIHono<JsonApiEnv>, version: string): void {
  const { openAPIRegistry } = api;
  openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' });
  openAPIRegistry.registerComponent('securitySchemes', 'basic', {
    type: 'http',
    scheme: 'basic',
    description: 'For mail clients: the address, and an app token as the password.',
  });
  openAPIRegistry.registerComponent('securitySchemes', 'session', {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-session',
    description: 'Of a mail session; writes need the Origin of this service. On loopback it is called `session`.',
  });
  let made = { origin: '', text: '' };
  api.openapi(documentRoute, (c) => {
    const { APP_HOST: host } = settingsOf(c.env);
    const origin = host === '' ? new URL(c.req.url).origin : `https://${host}`;
    if (made.origin !== origin) {
      const generated = api.getOpenAPI31Document({ ...config, servers: [{ url: origin }] });
      const document: JsonDocument = JSON.parse(JSON.stringify(generated, withoutFlags));
      mergeClosedParts(document.components.schemas);
      addExamples(document);
      made = { origin, text: JSON.stringify(document) };
    }
    return unchecked(c.body(made.text, 200, { 'content-type': 'application/json', 'cache-control': 'no-cache' }));
  });
  for (const { route } of openAPIRegistry.definitions.filter((each) => each.type === 'route')) {
    // Every route has the response for unknown query parameters, which it refuses.
    Object.assign(route.responses, { ...refusedRequest, ...route.responses });
    // Every route with a JSON body has the responses for a body that is too long or of another media type.
    if (route.request?.body?.content['application/json']) Object.assign(route.responses, refusedBodies);
  }
  const config = {
    openapi: '3.1.0',
    info: {
      title: 'Tessera',
      version,
      description: 'The JSON APIs of Tessera. Object storage itself speaks the S3 protocol.',
    },
    tags: [
      { name: 'service', description: 'Health and this document' },
      { name: 'identity', description: 'Users, access keys, policies and tokens' },
      { name: 'leaderboard', description: 'Scores, ranks and seasons' },
      { name: 'mail', description: 'Mailboxes, sending and receiving, domains' },
      { name: 'storage', description: 'Maintenance of object storage' },
    ],
  };
}

/** The parts of the generated document that are changed, as JSON. */
interface JsonDocument {
  readonly paths: object;
  readonly components: { readonly schemas: Record<string, ObjectSchema> };
}

interface ObjectSchema {
  $ref?: string;
  allOf?: ObjectSchema[];
  properties?: object;
  required?: string[];
  additionalProperties?: unknown;
}

/**
 * Replaces `allOf` of objects without additional properties by one object. Each part alone would refuse the members of the others.
 */
function mergeClosedParts(schemas: Record<string, ObjectSchema>): void {
  for (const schema of Object.values(schemas)) {
    const parts = (schema.allOf ?? []).map((part) => schemas[part.$ref?.split('/').at(-1) ?? ''] ?? part);
    if (!parts.some(({ additionalProperties }) => additionalProperties === false)) continue;
    delete schema.allOf;
    Object.assign(schema, {
      type: 'object',
      properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
      required: parts.flatMap(({ required = [] }) => required),
      additionalProperties: false,
    });
  }
}

const refusedRequest = problemResponses(400);
const refusedBodies = problemResponses(413, 415);

/** The characters of `\p{Cc}` as ranges, because some readers of JSON Schema do not support property escapes. */
const CONTROL_CHARACTERS = '\\u0000-\\u001f\\u007f-\\u009f';

/**
 * Removes the flag `u` from patterns. A pattern of JSON Schema is the bare source and always read as Unicode, but the generator
 * leaves the flag at its end.
 */
const withoutFlags = (key: string, value: unknown): unknown =>
  key === 'pattern' && typeof value === 'string'
    ? value.replace(/\/u$/, '').replaceAll('\\p{Cc}', CONTROL_CHARACTERS)
    : value;
