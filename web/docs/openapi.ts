/** Reads an OpenAPI 3.1 document, but only the parts that the API reference shows. */

import { docsTexts } from '../shared/texts/docs.ts';
import { fill } from '../shared/texts/index.ts';

const t = docsTexts.page;

export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  example?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
}

export interface Operation {
  tags?: string[];
  summary?: string;
  description?: string;
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: { required?: boolean; content?: Record<string, { schema?: Schema; example?: unknown }> };
  /** An empty array means that the operation needs no authentication. */
  security?: unknown[];
  responses?: Record<string, { description?: string; content?: Record<string, { schema?: Schema }> }>;
}

export interface OpenApi {
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema> };
}

export interface Entry {
  id: string;
  method: string;
  path: string;
  operation: Operation;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Group of an operation: its first tag. */
const groupOf = ({ tags }: Operation): string => {
  const tag = tags?.[0] ?? 'service';
  return tag.charAt(0).toUpperCase() + tag.slice(1);
};
const ORDER = ['Service', 'Identity', 'Leaderboard', 'Mail', 'Storage'];

export function groupEntries(document: OpenApi, filter: string): [string, Entry[]][] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, Entry[]>();
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = operations[method];
      if (!operation) continue;
      const text = `${method} ${path} ${operation.summary ?? ''} ${operation.description ?? ''}`.toLowerCase();
      if (!words.every((word) => text.includes(word))) continue;
      const id = `${method}-${path.replaceAll(/[^a-z0-9]+/gi, '-').replaceAll(/^-|-$/g, '')}`;
      const group = groupOf(operation);
      groups.set(group, [...(groups.get(group) ?? []), { id, method, path, operation }]);
    }
  }
  return [...groups].sort(([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b));
}

export function resolve(document: OpenApi, schema: Schema): { name: string | null; schema: Schema } {
  const name = schema.$ref?.split('/').at(-1) ?? null;
  return { name, schema: (name && document.components?.schemas?.[name]) || schema };
}

/** Describes a schema in one line: `string (uuid)`, `array of Message`, `"a" | "b"`. */
export function describeType(document: OpenApi, input: Schema): string {
  const { name, schema } = resolve(document, input);
  const choices = schema.anyOf ?? schema.oneOf;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (choices) return choices.map((choice) => describeType(document, choice)).join(' | ');
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? 'any'];
  return types
    .map((type) => {
      if (type === 'array') return fill(t.arrayOf, { type: describeType(document, schema.items ?? {}) });
      if (type === 'object' && name) return name;
      return schema.format ? `${type} (${schema.format})` : type;
    })
    .join(' | ');
}

export function describeLimits(schema: Schema): string {
  const range = (low?: number, high?: number, text = t.range) => {
    if (low === undefined && high === undefined) return '';
    return fill(text, { low: low ?? 0, high: high ?? '…' });
  };
  const limits = [
    range(schema.minimum, schema.maximum === Number.MAX_SAFE_INTEGER ? undefined : schema.maximum),
    range(schema.minLength, schema.maxLength, t.characters),
    range(schema.minItems, schema.maxItems, t.items),
    schema.default === undefined ? '' : fill(t.defaultIs, { value: JSON.stringify(schema.default) }),
  ];
  return limits.filter(Boolean).join(', ');
}

/** Lists the members of a schema as `[name, schema, is required]`. Looks into arrays and `allOf`. */
export function membersOf(document: OpenApi, input: Schema): [string, Schema, boolean][] {
  const { schema } = resolve(document, input);
  if (schema.items) return membersOf(document, schema.items);
  const parts = schema.allOf ?? [schema];
  return parts.flatMap((part) => {
    const { schema: own } = resolve(document, part);
    return Object.entries(own.properties ?? {}).map(([name, member]): [string, Schema, boolean] => [
      name,
      member,
      own.required?.includes(name) ?? false,
    ]);
  });
}
