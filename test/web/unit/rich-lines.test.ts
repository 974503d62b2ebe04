import { describe, expect, it } from 'vitest';
import { type Block, isFormatted, restoreBlocks, toLines } from '../../../web/mail/compose/rich-lines.ts';

describe('text that was formatted before', () => {
  const former: Block[] = [
    { html: '<div><b>Dear</b></div>', text: 'Dear' },
    { html: '<ul><li>one</li><li>two</li></ul>', text: '- one\n- two' },
    { html: '<div><br></div>', text: '' },
    { html: '<div><i>Bye</i></div>', text: 'Bye' },
  ];
  const body = former.map((block) => block.text).join('\n');
  const whole = former.map((block) => block.html).join('');

  it('gets all of its formatting back if it is the same', () => {
    expect(restoreBlocks(former, body)).toBe(whole);
  });

  it.each([
    ['a word in the first line', body.replace('Dear', 'Dear Mira'), whole.replace('<b>Dear</b>', 'Dear Mira')],
    ['a word in the last line', `${body} now`, whole.replace('<i>Bye</i>', 'Bye now')],
    ['a new line in between', body.replace('\n- one', '\nnew\n- one'), whole.replace('<ul>', '<div>new</div><ul>')],
    ['a new line at the start', `new\n${body}`, `<div>new</div>${whole}`],
    ['a new line at the end', `${body}\nnew`, `${whole}<div>new</div>`],
    [
      'an item of a list',
      body.replace('- two', '- three'),
      whole.replace(/<ul>.*<\/ul>/, '<div>- one</div><div>- three</div>'),
    ],
    ['a removed line', body.replace('\n- one\n- two', ''), whole.replace(/<ul>.*<\/ul>/, '')],
  ])('keeps the formatting around %s', (_, changed, expected) => {
    expect(restoreBlocks(former, changed)).toBe(expected);
  });

  it('has no formatting left if all of it was replaced, and all lines in any case', () => {
    expect(restoreBlocks(former, 'Other\n\nlines')).toBe(toLines('Other\n\nlines'));
    expect(restoreBlocks([], 'a')).toBe('<div>a</div>');
    expect(restoreBlocks(former, '')).toBe('<div><br></div>');
  });
});

it('only text with more than lines is formatted', () => {
  for (const plain of ['', toLines('a\n\n  <b> & "c"'), '<div><div>a</div></div>'])
    expect(isFormatted(plain)).toBe(false);
  for (const html of ['<div><b>a</b></div>', '<div dir="rtl">a</div>', '<img src="x">', '<ul><li>a</li></ul>'])
    expect(isFormatted(html)).toBe(true);
});
