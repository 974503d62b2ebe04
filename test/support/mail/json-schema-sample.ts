/** Makes a minimal value that a JSON schema of the OpenAPI document accepts. */

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly minimum?: number;
  readonly minLength?: number;
}

/** Sample values of members whose format the schema does not fully describe. */
const BY_NAME: Readonly<Record<string, unknown>> = {
  email: 'someone@elsewhere.test',
  to: 'someone@elsewhere.test',
  totp: '123456',
  code: '12345678',
  domain: 'elsewhere.test',
  header_name: 'X-Any',
};

export function sample(schema: JsonSchema, components: Readonly<Record<string, JsonSchema>>, name = ''): unknown {
  const again = (inner: JsonSchema, innerName = name) => sample(inner, components, innerName);
  if (schema.$ref) return again(components[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const choice = schema.anyOf?.[0] ?? schema.oneOf?.[0];
  if (choice) return again(choice);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => again(part) as object));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'object': {
      const wanted = Object.entries(schema.properties ?? {}).filter(([member]) => schema.required?.includes(member));
      return Object.fromEntries(wanted.map(([member, inner]) => [member, again(inner, member)]));
    }
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => again(schema.items ?? {}));
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      if (name in BY_NAME) return BY_NAME[name];
      if (schema.format === 'date-time') return '2030-01-01T00:00:00Z';
      return 'x'.repeat(Math.max(1, schema.minLength ?? 1));
  }
}
