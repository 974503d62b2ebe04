/** Adds mutants that Stryker lacks: integer constants that are one higher or one lower. */
import { pathToFileURL } from 'node:url';

/** The parts of Babel's syntax tree nodes and paths that this file uses. */
interface Node {
  readonly type: string;
  readonly value?: unknown;
  readonly operator?: string;
  readonly prefix?: boolean;
  readonly argument?: Node;
}
interface NodePath {
  readonly node: Node;
  readonly parentPath: NodePath | null;
}
interface Mutator {
  readonly name: string;
  mutate(path: NodePath): Iterable<Node>;
}

const toNumber = (value: number): Node => ({ type: 'NumericLiteral', value });

const integerMutator: Mutator = {
  name: 'IntegerLiteral',
  *mutate({ node, parentPath }) {
    if (node.type !== 'NumericLiteral' || !Number.isSafeInteger(node.value)) return;
    const value = node.value as number;
    yield toNumber(value + 1);
    if (value > 0) yield toNumber(value - 1);
    else if (parentPath?.node.type !== 'UnaryExpression')
      yield { type: 'UnaryExpression', operator: '-', prefix: true, argument: toNumber(1) };
  },
};

/**
 * Registers the mutator with the instrumenter of this process. Stryker has no public way to add one, so this extends its
 * list in place. The path holds for the pinned version.
 * @param root the repository, where `node_modules` is.
 */
export async function addNumberMutator(root: string): Promise<void> {
  const file = `${root}/node_modules/@stryker-mutator/instrumenter/dist/src/mutators/mutate.js`;
  const { allMutators } = (await import(pathToFileURL(file).href)) as { allMutators: Mutator[] };
  allMutators.push(integerMutator);
}
