import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fromStyle, INKS, listClasses, MARKED_TEXT, MARKS, toStyle } from '../../../web/mail/compose/colours.ts';

/** Computes the relative luminance of a colour (WCAG 2.2). */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

describe('the colours of formatted text', () => {
  const tokens = readFileSync(new URL('../../../web/shared/tokens.css', import.meta.url), 'utf8');
  const surface = /--surface: light-dark\(#ffffff, (#\w+)\)/.exec(tokens)?.[1] ?? '';

  it('are readable on white, on each highlight and, in the editor, in dark mode', () => {
    for (const [name, ink] of Object.entries(INKS)) {
      for (const paper of ['#ffffff', ...Object.values(MARKS)])
        expect(contrast(ink, paper), `${name} on ${paper}`).toBeGreaterThanOrEqual(4.5);
      expect(contrast(ink, surface), `${name} in a dark mail program`).toBeGreaterThanOrEqual(3);
      const [, light, dark = ''] =
        new RegExp(`--ink-${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(tokens) ?? expect.fail(name);
      expect(tokens).toContain(`--sent-${name}: ${ink};`);
      expect(light).toBe(ink);
      expect(contrast(dark, surface), `${name} in dark mode`).toBeGreaterThanOrEqual(4.5);
    }
    for (const [name, mark] of Object.entries(MARKS)) {
      expect(contrast(MARKED_TEXT, mark), name).toBeGreaterThanOrEqual(4.5);
      expect(tokens).toContain(`--mark-${name}: ${mark};`);
    }
  });

  it('come back from the style of a message', () => {
    for (const kind of ['ink', 'mark', 'size'] as const)
      for (const name of listClasses(kind)) expect(fromStyle(toStyle(name, []))).toEqual({ classes: [name], rest: '' });
    expect(fromStyle(toStyle('mark-pink', ['ink-red']))).toEqual({ classes: ['mark-pink', 'ink-red'], rest: '' });
    expect(fromStyle('color: rgb(203, 41, 29)')).toEqual({ classes: ['ink-red'], rest: '' });
    expect(fromStyle('color:#123456;font-size:7px')).toEqual({ classes: [], rest: 'color:#123456;font-size:7px' });
    expect(fromStyle('color:expression(1)')).toEqual({ classes: [], rest: 'color:expression(1)' });
    for (const other of ['ink-none', 'modal', 'ink-red mark-pink', '']) expect(toStyle(other, [])).toBe('');
  });
});
