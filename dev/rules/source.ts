/** Parses a source file and walks its syntax tree. */
import { type ESTree, parseSync } from 'vite';

export interface Source {
  readonly file: string;
  readonly text: string;
  readonly program: ESTree.Program;
  /** Whether the line (from 0) has code. Blank lines and lines that only hold a comment have none. */
  readonly hasCode: readonly boolean[];
}

export function parseSource(file: string, text: string): Source {
  const { program, comments, errors } = parseSync(file, text);
  if (errors[0]) throw new Error(`${file}: ${errors[0].message}`);
  let code = '';
  let end = 0;
  for (const comment of comments) {
    code += text.slice(end, comment.start) + text.slice(comment.start, comment.end).replace(/[^\n]/g, ' ');
    end = comment.end;
  }
  code += text.slice(end);
  return { file, text, program, hasCode: code.split('\n').map((line) => line.trim() !== '') };
}

const isNode = (value: unknown): value is ESTree.Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

export function childrenOf(node: ESTree.Node): ESTree.Node[] {
  const children: ESTree.Node[] = [];
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) children.push(...value.filter(isNode));
    else if (isNode(value)) children.push(value);
  }
  return children;
}

/** Lists a node and all nodes in it. Does not look into nodes that are skipped, and leaves them out. */
export function nodesIn(node: ESTree.Node, isSkipped: (node: ESTree.Node) => boolean = () => false): ESTree.Node[] {
  const nodes: ESTree.Node[] = [];
  const waiting = [node];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (isSkipped(next)) continue;
    nodes.push(next);
    waiting.push(...childrenOf(next));
  }
  return nodes;
}

type FunctionNode = ESTree.Function | ESTree.ArrowFunctionExpression;

/** Whether a node is a function with a body. Types and overload signatures are none. */
export const isFunction = (node: ESTree.Node): node is FunctionNode =>
  (node.type === 'FunctionDeclaration' ||
    node.type === 'FunctionExpression' ||
    node.type === 'ArrowFunctionExpression') &&
  node.body !== null;
