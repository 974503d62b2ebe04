/** Finds texts for users that are written into the code of a page. Pure. */
import { parseSync } from 'vite';

export interface Literal {
  line: number;
  text: string;
}

interface Node {
  type: string;
  start: number;
  [member: string]: unknown;
}

/** Attributes and object members whose value is shown or read out. */
const SHOWN_NAMES = new Set([
  'alt',
  'aria-description',
  'aria-label',
  'aria-roledescription',
  'aria-valuetext',
  'caption',
  'cancelLabel',
  'confirmLabel',
  'description',
  'detail',
  'empty',
  'heading',
  'help',
  'hint',
  'intro',
  'label',
  'message',
  'noun',
  'note',
  'placeholder',
  'summary',
  'text',
  'title',
  'what',
]);

/** Functions whose arguments are shown as texts. */
const SHOWN_CALLS =
  /^(show\w*|notify\w*|announce\w*|toast\w*|confirm|alert|prompt|set(Error|Notice|Status|Message|Problem)|fillNodes|fill|offer\w*)$/;

/** Elements whose content is code or a key, which is the same in every language. */
const CODE_ELEMENTS = new Set(['code', 'kbd', 'samp', 'pre', 'Snippet']);

/** Names of products and tools, which are the same in every language. */
const NAMES = new Set(['Tessera', 'curl', 'TypeScript', 'Edge']);

/** Matches a word of at least two letters. */
const WORD = /\p{L}{2}/u;
/** Matches an address, a path or a code: one word with signs inside or before it, or in capitals with signs. */
const CODE = /^\S*[./:@_{}]\S*[^\s.:]$|^\S*[/@_]$|^[\p{Lu}\d-]+$|:\/\/$/u;
const isText = (value: string): boolean => WORD.test(value) && !CODE.test(value.trim()) && !NAMES.has(value.trim());
/** Matches a sentence or a label of several words: it begins with a capital letter. */
const SENTENCE = /^\p{Lu}[\p{L}’']*,? \p{L}|^\p{Lu}\p{Ll}+[.…]$/u;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;

const nameOf = (node: unknown): string => {
  if (!isNode(node)) return '';
  if (node.type === 'MemberExpression') return nameOf(node.property);
  if (node.type === 'Literal') return String(node.value);
  return typeof node.name === 'string' ? node.name : '';
};

/** Lists the literals that an expression may have as its value. */
function* valuesOf(node: unknown): Generator<{ node: Node; text: string }> {
  if (!isNode(node)) return;
  const parts: Record<string, string[]> = {
    ConditionalExpression: ['consequent', 'alternate'],
    LogicalExpression: ['left', 'right'],
    JSXExpressionContainer: ['expression'],
    TSAsExpression: ['expression'],
    ParenthesizedExpression: ['expression'],
  };
  if (node.type === 'Literal' && typeof node.value === 'string') yield { node, text: node.value };
  if (node.type === 'BinaryExpression' && node.operator === '+') {
    yield* valuesOf(node.left);
    yield* valuesOf(node.right);
  }
  if (node.type === 'TemplateLiteral')
    for (const quasi of node.quasis as { value: { cooked: string } }[]) yield { node, text: quasi.value.cooked };
  for (const part of parts[node.type] ?? []) yield* valuesOf(node[part]);
}

export function findLiterals(fileName: string, source: string): Literal[] {
  const { program, errors } = parseSync(fileName, source);
  if (errors.length > 0) throw new Error(`${fileName} cannot be parsed: ${errors[0]?.message}`);
  const found = new Map<number, Literal>();
  const note = (node: Node, text: string) => {
    const line = source.slice(0, node.start).split('\n').length;
    found.set(node.start, { line, text: text.trim() });
  };
  const noteShown = (node: unknown) => {
    for (const value of valuesOf(node)) if (isText(value.text)) note(value.node, value.text);
  };
  const visit = (node: Node, isCode: boolean): void => {
    let inner = isCode;
    switch (node.type) {
      case 'ImportDeclaration':
      case 'TSLiteralType':
        return;
      case 'JSXElement':
        inner = isCode || CODE_ELEMENTS.has(nameOf((node.openingElement as Node).name));
        if (!inner)
          for (const child of node.children as Node[]) if (child.type === 'JSXExpressionContainer') noteShown(child);
        break;
      case 'JSXFragment':
        for (const child of node.children as Node[]) if (child.type === 'JSXExpressionContainer') noteShown(child);
        break;
      case 'JSXText':
        if (!isCode && isText(String(node.value))) note(node, String(node.value));
        break;
      case 'JSXAttribute':
        if (!isCode && SHOWN_NAMES.has(nameOf(node.name))) noteShown(node.value);
        break;
      case 'Property':
        if (SHOWN_NAMES.has(nameOf(node.key))) noteShown(node.value);
        break;
      case 'CallExpression':
        if (SHOWN_CALLS.test(nameOf(node.callee)))
          for (const argument of node.arguments as Node[]) {
            noteShown(argument);
            if (argument.type === 'ObjectExpression' && /^fill/.test(nameOf(node.callee)))
              for (const property of argument.properties as Node[]) noteShown(property.value);
          }
        break;
      case 'Literal':
        if (typeof node.value === 'string' && SENTENCE.test(node.value)) note(node, node.value);
        break;
      case 'TemplateElement':
        if (SENTENCE.test((node.value as { cooked: string }).cooked))
          note(node, (node.value as { cooked: string }).cooked);
        break;
    }
    for (const [key, value] of Object.entries(node)) {
      if (key === 'type' || key === 'start' || key === 'end') continue;
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, inner);
    }
  };
  visit(program as unknown as Node, false);
  return [...found.values()].sort((a, b) => a.line - b.line);
}
