/** Finds SQL that names no columns: a new column then changes what the statement returns, and what it costs. */
import type { ESTree } from 'vite';
import { namedNodes } from './functions.ts';
import type { Source } from './source.ts';

const STAR = /\b(?:SELECT|RETURNING)\s+(?:DISTINCT\s+)?(?:\w+\.)?\*|\bSELECT\b[^()]*,\s*\w+\.\*/i;

const isString = (node: ESTree.Node): node is ESTree.StringLiteral | ESTree.TemplateLiteral =>
  node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string');

/** Names the strings with `SELECT *`, `SELECT a.*` or `RETURNING *` by the variables and functions that enclose them. */
export function selectStarsOf(source: Source): string[] {
  // Most files have none, and the walk takes longer than this look.
  if (!STAR.test(source.text)) return [];
  return namedNodes(source, isString)
    .filter(({ node }) => STAR.test(source.text.slice(node.start, node.end)))
    .map(({ name }) => name);
}
