/**
 * Finds state of a module: what outlives a request because it is stored in a variable of the module. An isolate shares it between
 * all its requests, and nothing bounds it by itself.
 */
import type { ESTree } from 'vite';
import { rootOf } from './parameter-writes.ts';
import { childrenOf, isFunction, nodesIn, type Source } from './source.ts';

/** Classes whose objects hold no state after they are made. `Map` and `Set` with content are judged by their use. */
const STATELESS =
  /^(?:RegExp|TextEncoder|TextDecoder|URL|Error|Date|Hono|OpenAPIHono|XMLParser|Intl\.\w+|U?[Ii]nt\d+Array|Uint8Array|Float64Array)$/;
/** Our functions that return an object with state. */
export const STATE_FACTORIES = ['createIsolateMemory'];
/** Names of constants. Such a variable is state only if the file changes it. */
const CONSTANT_NAME = /^[A-Z][A-Z0-9_]*$/;
const MUTATORS = new Set('set add delete clear push pop shift unshift splice sort reverse fill copyWithin'.split(' '));

interface Variable {
  readonly name: string;
  readonly kind: string;
  readonly init: ESTree.Node | null;
}

function variablesOf(program: ESTree.Program): Variable[] {
  return program.body.flatMap((node): Variable[] => {
    const declared = node.type === 'ExportNamedDeclaration' ? node.declaration : node;
    if (declared?.type === 'VariableDeclaration')
      return declared.declarations.flatMap(({ id, init }) =>
        id.type === 'Identifier' ? [{ name: id.name, kind: declared.kind, init }] : [],
      );
    if (declared?.type === 'ClassDeclaration')
      return declared.body.body.flatMap((member) =>
        member.type === 'PropertyDefinition' && member.static && member.key.type === 'Identifier'
          ? [{ name: member.key.name, kind: member.readonly ? 'const' : 'let', init: member.value }]
          : [],
      );
    return [];
  });
}

/** The name of the variable whose content a node changes, or an empty string. */
function changedBy(node: ESTree.Node): string {
  if (node.type === 'AssignmentExpression' && node.left.type === 'MemberExpression') return rootOf(node.left);
  if (node.type === 'UpdateExpression' && node.argument.type === 'MemberExpression') return rootOf(node.argument);
  if (node.type === 'UnaryExpression' && node.operator === 'delete') return rootOf(node.argument);
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return '';
  const { object, property } = node.callee;
  return property.type === 'Identifier' && MUTATORS.has(property.name) ? rootOf(object) : '';
}

/** Whether a node makes an object that has no use unless its content changes. */
function makesState(node: ESTree.Node, text: string): boolean {
  if (node.type === 'CallExpression')
    return node.callee.type === 'Identifier' && STATE_FACTORIES.includes(node.callee.name);
  if (node.type !== 'NewExpression') return false;
  const name = text.slice(node.callee.start, node.callee.end);
  return !STATELESS.test(name) && !(/^(?:Map|Set)$/.test(name) && node.arguments.length > 0);
}

function isEmptyLiteral(node: ESTree.Node): boolean {
  if (node.type === 'ArrayExpression') return node.elements.length === 0;
  return node.type === 'ObjectExpression' && node.properties.length === 0;
}

/**
 * Names variables of the module that hold state: `let`; a `Map`, a `Set`, an array or an object that is empty, or that the file
 * changes inside a function; every other object of a class, unless the class is known to have no state or the name is that of a constant.
 */
export function moduleStateOf({ program, text }: Source): string[] {
  const functions = nodesIn(program, isFunction).flatMap((node) => childrenOf(node).filter(isFunction));
  const changed = new Set(functions.flatMap((each) => nodesIn(each).map(changedBy)));
  return variablesOf(program)
    .filter(({ name, kind, init }) => {
      if (kind === 'let' || kind === 'var' || changed.has(name)) return true;
      if (init === null || CONSTANT_NAME.test(name)) return false;
      return isEmptyLiteral(init) || nodesIn(init, isFunction).some((node) => makesState(node, text));
    })
    .map(({ name }) => name);
}
