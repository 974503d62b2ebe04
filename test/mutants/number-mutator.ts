/** Adds mutants to Stryker that it does not have: an integer constant plus and minus one. */
import { pathToFileURL } from 'node:url';
import type { babel } from '@stryker-mutator/core';

interface Mutator {
  readonly name: string;
  mutate(path: babel.NodePath): Iterable<babel.Node>;
}

/**
 * Registers the mutator with the instrumenter of this process. Stryker has no public way to add one, so this extends its
 * list in place; the path is checked by the pinned version of Stryker.
 * @param root the repository, where `node_modules` is.
 */
export async function addNumberMutator(root: string): Promise<void> {
  const file = `${root}/node_modules/@stryker-mutator/instrumenter/dist/src/mutators/mutate.js`;
  const { allMutators } = (await import(pathToFileURL(file).href)) as { allMutators: Mutator[] };
  allMutators.push({
    name: 'IntegerLiteral',
    *mutate(path) {
      if (!path.isNumericLiteral() || !Number.isSafeInteger(path.node.value)) return;
      for (const value of [path.node.value + 1, path.node.value - 1]) {
        // A negative literal is an expression of its own.
        if (value >= 0) yield { type: 'NumericLiteral', value } as babel.types.NumericLiteral;
        else if (!path.parentPath?.isUnaryExpression())
          yield {
            type: 'UnaryExpression',
            operator: '-',
            prefix: true,
            argument: { type: 'NumericLiteral', value: -value },
          } as babel.types.UnaryExpression;
      }
    },
  });
}
