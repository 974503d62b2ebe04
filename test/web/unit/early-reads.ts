/** Finds texts that a module reads while it is loaded. They may still be in English then. Pure. */
import { parseSync } from 'vite';

interface Node {
  type: string;
  start: number;
  [member: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;

/** Finds the early reads of a file. @param catalogues the English texts, by the names by which modules import them. */
export function findEarlyReads(fileName: string, source: string, catalogues: Record<string, unknown>): string[] {
  const { program } = parseSync(fileName, source);
  const bound = new Map<string, unknown>(Object.entries(catalogues));
  const found: string[] = [];

  /** Returns the part of the texts that an expression names; undefined for other expressions. */
  const resolve = (node: unknown): unknown => {
    if (!isNode(node)) return undefined;
    if (node.type === 'Identifier') return bound.get(String(node.name));
    if (node.type !== 'MemberExpression' || node.computed) return undefined;
    const object = resolve(node.object);
    return typeof object === 'object' && object !== null
      ? (object as Record<string, unknown>)[String((node.property as Node).name)]
      : undefined;
  };
  const note = (node: Node) => found.push(`${source.slice(0, node.start).split('\n').length}`);
  const bind = ({ id, init }: Node) => {
    const value = resolve(init);
    if (value === undefined || !isNode(id)) return;
    if (id.type === 'Identifier') bound.set(String(id.name), value);
    if (id.type !== 'ObjectPattern') return;
    for (const property of id.properties as Node[]) {
      const member = (value as Record<string, unknown>)[String((property.key as Node).name)];
      if (typeof member === 'string') note(property);
      bound.set(String((property.value as Node).name), member);
    }
  };
  const visit = (node: Node): void => {
    if (/Function|^Import|^Class|^TS(?!As|Satisfies|NonNull)/.test(node.type)) return;
    if (node.type === 'VariableDeclarator') bind(node);
    if (node.type === 'MemberExpression' && typeof resolve(node) === 'string') note(node);
    if (
      node.type === 'CallExpression' &&
      /^Object\.(entries|values)$/.test(source.slice((node.callee as Node).start, (node.callee as Node).end as number))
    )
      if (resolve((node.arguments as Node[])[0]) !== undefined) note(node);
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child);
  };
  visit(program as unknown as Node);
  return found.map((line) => `${fileName}:${line}`);
}
