/**
 * Finds exported functions that assign to a member of a parameter. Their callers do not see the write: what a function finds out, it
 * returns. Calls such as `list.push(x)` are no assignments.
 */
import type { ESTree } from 'vite';
import { namedNodes } from './functions.ts';
import { childrenOf, isFunction, nodesIn, type Source } from './source.ts';

/** The names that a parameter or a pattern declares. */
function namesIn(pattern: ESTree.Node): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'AssignmentPattern':
      return namesIn(pattern.left);
    case 'Property':
      return namesIn(pattern.value);
    case 'RestElement':
      return namesIn(pattern.argument);
    case 'ObjectPattern':
    case 'ArrayPattern':
      return childrenOf(pattern).flatMap(namesIn);
    default:
      return [];
  }
}

/** The name of the variable that a member expression begins with: `a` for `a.b[c]`. */
export function rootOf(node: ESTree.Node): string {
  if (node.type === 'MemberExpression') return rootOf(node.object);
  if (node.type === 'TSNonNullExpression' || node.type === 'TSAsExpression') return rootOf(node.expression);
  return node.type === 'Identifier' ? node.name : '';
}

/** The members to which a node assigns. `[a.b, c.d] = x` assigns to two. */
function targetsOf(node: ESTree.Node): ESTree.Node[] {
  if (node.type === 'AssignmentExpression') return nodesIn(node.left).slice(0, 1).flatMap(membersIn);
  if (node.type === 'UpdateExpression') return membersIn(node.argument);
  return node.type === 'UnaryExpression' && node.operator === 'delete' ? membersIn(node.argument) : [];
}

function membersIn(target: ESTree.Node): ESTree.Node[] {
  if (target.type === 'MemberExpression') return [target];
  return /Pattern$|^Property$|^RestElement$/.test(target.type) ? childrenOf(target).flatMap(membersIn) : [];
}

/** Counts assignments to members of the named variables. An inner function that declares a name again hides it. */
function countWrites(node: ESTree.Node, names: ReadonlySet<string>): number {
  const hidden = isFunction(node) ? node.params.flatMap(namesIn) : [];
  const visible = hidden.length === 0 ? names : new Set([...names].filter((name) => !hidden.includes(name)));
  const own = targetsOf(node).filter((target) => visible.has(rootOf(target))).length;
  return childrenOf(node).reduce((sum, child) => sum + countWrites(child, visible), own);
}

/** The functions that a module exports by their declaration or by a list. */
function exportedNodes({ program }: Source): Set<ESTree.Node> {
  const listed = new Set<string>();
  const exported = new Set<ESTree.Node>();
  const addVariables = (declaration: ESTree.Node, isWanted: (name: string) => boolean) => {
    if (isFunction(declaration) && (declaration.type !== 'FunctionDeclaration' || isWanted(declaration.id?.name ?? '')))
      exported.add(declaration);
    if (declaration.type !== 'VariableDeclaration') return;
    for (const { id, init } of declaration.declarations) {
      if (init && isFunction(init) && id.type === 'Identifier' && isWanted(id.name)) exported.add(init);
    }
  };
  for (const node of program.body) {
    if (node.type === 'ExportNamedDeclaration' && node.declaration) addVariables(node.declaration, () => true);
    if (node.type === 'ExportDefaultDeclaration') addVariables(node.declaration, () => true);
    if (node.type !== 'ExportNamedDeclaration') continue;
    for (const { local } of node.specifiers) if (local.type === 'Identifier') listed.add(local.name);
  }
  for (const node of program.body) addVariables(node, (name) => listed.has(name));
  return exported;
}

/** Files whose functions build what they are given. */
export const BUILDERS = ['workers/storage/domain/counting.ts'];

/** Names exported functions that assign to members of their parameters, with the number of assignments. */
export function parameterWritesOf(source: Source): [name: string, writes: number][] {
  if (BUILDERS.includes(source.file)) return [];
  const exported = exportedNodes(source);
  return namedNodes(source, isFunction)
    .filter(({ node }) => exported.has(node))
    .map(({ node, name }): [string, number] => {
      const names = new Set(node.params.flatMap(namesIn));
      return [name, node.body ? countWrites(node.body, names) : 0];
    })
    .filter(([, writes]) => writes > 0);
}
