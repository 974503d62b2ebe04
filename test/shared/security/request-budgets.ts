/**
 * What a client can repeat or nest, doubled, on every route: members, items, levels and lengths of JSON bodies, made from the OpenAPI
 * document, and of the XML documents of S3.
 */
import { type JsonSchema, sample } from '../../support/mail/json-schema-sample.ts';

export interface BodyRoute {
  readonly method: string;
  readonly path: string;
  readonly schema: JsonSchema;
  /** Whether the route needs no credential. Its bodies have at most 16 KB. */
  readonly isOpen: boolean;
}
interface ApiOperation {
  readonly security?: readonly object[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
}
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

/** Lists the routes of the document that take JSON. JMAP has a budget and a test of its own. */
export const listBodyRoutes = (document: ApiDocument): BodyRoute[] =>
  Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { security, requestBody }]) => {
      const schema = requestBody?.content['application/json']?.schema;
      if (schema === undefined || path === '/v1/jmap/api') return [];
      return [{ method: method.toUpperCase(), path, schema, isOpen: security?.length === 0 }];
    }),
  );

/** A body that repeats or nests something. */
export interface Multiplied {
  readonly what: string;
  readonly body: string;
}

const LEVELS = 100_000;
const VALUES = 900_000;

/** Bodies of any route that multiply what JSON can repeat or nest, up to the largest body that a route reads. */
export const MULTIPLIED_JSON: readonly Multiplied[] = [
  { what: 'levels of arrays', body: '['.repeat(LEVELS) + ']'.repeat(LEVELS) },
  { what: 'levels of objects', body: `${'{"a":'.repeat(LEVELS)}1${'}'.repeat(LEVELS)}` },
  { what: 'items', body: `[${'[],'.repeat(VALUES)}[]]` },
  {
    what: 'members',
    body: `{${Array.from({ length: 200_000 }, (_, n) => `"m${n}":1`).join(',')}}`,
  },
];

/** Makes bodies from the route's own schema, in which each array has `count` items and each text `count` characters. */
export function multiplySchema(
  route: BodyRoute,
  components: Readonly<Record<string, JsonSchema>>,
  count: number,
): Multiplied[] {
  const open = (schema: JsonSchema): JsonSchema =>
    schema.$ref === undefined ? schema : open(components[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  const root = open(route.schema);
  const small = (sample(root, components) ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(root.properties ?? {}).flatMap(([name, member]) => {
    const schema = open(member);
    const types = [schema, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].map((each) => open(each));
    const list = types.find(({ type }) => type === 'array');
    const text = types.find(({ type, enum: values }) => type === 'string' && values === undefined);
    const make = (what: string, value: unknown) => ({
      what: `${name} with ${count} ${what}`,
      body: JSON.stringify({ ...small, [name]: value }),
    });
    return [
      ...(list
        ? [
            make(
              'items',
              Array.from({ length: count }, () => sample(list.items ?? {}, components, name)),
            ),
          ]
        : []),
      ...(text ? [make('characters', 'x'.repeat(count))] : []),
    ];
  });
}

const repeated = (count: number, text: string) => text.repeat(count);

/** XML documents with a root that multiply what XML can repeat or nest, up to the largest document that S3 takes. */
export const multiplyXml = (root: string, bytes: number): readonly Multiplied[] => {
  const wrap = (what: string, inner: string) => ({ what, body: `<${root}>${inner}</${root}>` });
  return [
    wrap('elements', repeated(Math.floor(bytes / 4), '<a/>')),
    wrap(
      'elements of items',
      repeated(Math.floor(bytes / 60), '<Object><Key>a</Key></Object><Part><ETag>a</ETag></Part>'),
    ),
    wrap('levels', `${repeated(Math.floor(bytes / 7), '<a>')}${repeated(Math.floor(bytes / 7), '</a>')}`),
    wrap('beginnings', repeated(Math.floor(bytes / 3), '<a ')),
    wrap('comments', repeated(Math.floor(bytes / 7), '<!---->')),
    wrap('references', repeated(Math.floor(bytes / 5), '&amp;')),
    {
      what: 'attributes',
      body: `<${root} ${Array.from({ length: Math.floor(bytes / 14) }, (_, n) => `a${n}="1"`).join(' ')}/>`,
    },
    { what: 'entities', body: `<!DOCTYPE ${root} [<!ENTITY a "aaaa">]><${root}>&a;</${root}>` },
  ];
};

/** The documents of S3: query of the request, method, and root element. */
export const XML_DOCUMENTS: readonly (readonly [method: string, path: string, query: string, root: string])[] = [
  ['POST', '', 'delete', 'Delete'],
  ['POST', '/big', 'uploadId=none', 'CompleteMultipartUpload'],
  ['PUT', '', 'tagging', 'Tagging'],
  ['PUT', '/secret.txt', 'tagging', 'Tagging'],
  ['PUT', '', 'acl', 'AccessControlPolicy'],
  ['PUT', '', 'cors', 'CORSConfiguration'],
  ['PUT', '', 'lifecycle', 'LifecycleConfiguration'],
  ['PUT', '', 'versioning', 'VersioningConfiguration'],
  ['PUT', '', 'encryption', 'ServerSideEncryptionConfiguration'],
  ['PUT', '', 'notification', 'NotificationConfiguration'],
  ['PUT', '', 'object-lock', 'ObjectLockConfiguration'],
  ['PUT', '', 'ownershipControls', 'OwnershipControls'],
  ['PUT', '', 'publicAccessBlock', 'PublicAccessBlockConfiguration'],
  ['PUT', '/secret.txt', 'retention', 'Retention'],
  ['PUT', '/secret.txt', 'legal-hold', 'LegalHold'],
];
