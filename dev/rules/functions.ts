/** Lists the functions of a source file with their names, lines and parameters. */
import type { ESTree } from 'vite';
import { childrenOf, isFunction, type Source } from './source.ts';

export interface NamedFunction {
  /** The names of the enclosing functions and classes, and the function's own, joined by ` > `. Unique in the file. */
  readonly name: string;
  /** Lines of code of the body, with its braces. */
  readonly lines: number;
  /** Positional parameters. A rest parameter counts as one, `this` does not count. */
  readonly parameters: number;
  /** Whether it only groups tests: the callback of `describe`. */
  readonly isSuite: boolean;
}

/** Names a callback by the call that receives it, a test with its title: `map`, `it 'rejects a name'`. */
function nameOfCall({ callee, arguments: [first] }: ESTree.CallExpression, text: string): string {
  const test = /^(?:it|test|describe)\b/.exec(text.slice(callee.start, callee.end))?.[0];
  if (test) return first?.type === 'Literal' ? `${test} '${first.value}'` : test;
  const name = callee.type === 'MemberExpression' ? callee.property : callee;
  return name.type === 'Identifier' ? name.name : '';
}

/** The name that a node gives to the functions in it, or an empty string. */
function nameFrom(node: ESTree.Node, text: string): string {
  const source = (part: ESTree.Node) => text.slice(part.start, part.end);
  switch (node.type) {
    case 'ClassDeclaration':
    case 'ClassExpression':
    case 'FunctionDeclaration':
    case 'FunctionExpression':
      return node.id?.name ?? '';
    case 'VariableDeclarator':
      return node.id.type === 'Identifier' ? node.id.name : '';
    case 'MethodDefinition':
    case 'PropertyDefinition':
    case 'Property':
      return source(node.key);
    case 'AssignmentExpression':
      return source(node.left);
    case 'CallExpression':
      return nameOfCall(node, text);
    default:
      return '';
  }
}

const isSuiteCall = (node: ESTree.Node | undefined, text: string): boolean =>
  node?.type === 'CallExpression' && /^describe\b/.test(text.slice(node.start, node.end));

export interface Named<Node> {
  readonly node: Node;
  /** The names of what encloses the node, and its own. Unique in the file. */
  readonly name: string;
  readonly parent: ESTree.Node | undefined;
}

type IsWanted<Node extends ESTree.Node> = (node: ESTree.Node) => node is Node;

/** @param names names that enclosing nodes gave. */
function find<Node extends ESTree.Node>(
  isWanted: IsWanted<Node>,
  { node, parent }: { node: ESTree.Node; parent: ESTree.Node | undefined },
  names: readonly string[],
  text: string,
): Named<Node>[] {
  const own = nameFrom(node, text);
  const path = own === '' ? names : [...names, own];
  const inner = childrenOf(node).flatMap((child) => find(isWanted, { node: child, parent: node }, path, text));
  return isWanted(node) ? [{ node, name: path.join(' > ') || 'unnamed', parent }, ...inner] : inner;
}

/** Lists the nodes of a kind with their names. The second of a name gets `#2`. */
export function namedNodes<Node extends ESTree.Node>(source: Source, isWanted: IsWanted<Node>): Named<Node>[] {
  const uses = new Map<string, number>();
  return find(isWanted, { node: source.program, parent: undefined }, [], source.text).map((found) => {
    const use = (uses.get(found.name) ?? 0) + 1;
    uses.set(found.name, use);
    return use === 1 ? found : { ...found, name: `${found.name} #${use}` };
  });
}

function linesOf({ hasCode, text }: Source, body: ESTree.Node): number {
  const first = text.slice(0, body.start).split('\n').length - 1;
  const count = text.slice(body.start, body.end).split('\n').length;
  return hasCode.slice(first, first + count).filter(Boolean).length;
}

const isThis = (parameter: ESTree.Node): boolean => parameter.type === 'Identifier' && parameter.name === 'this';

export function functionsOf(source: Source): NamedFunction[] {
  return namedNodes(source, isFunction).map(({ node, name, parent }) => ({
    name,
    lines: node.body ? linesOf(source, node.body) : 0,
    parameters: node.params.filter((parameter) => !isThis(parameter)).length,
    isSuite: isSuiteCall(parent, source.text),
  }));
}
