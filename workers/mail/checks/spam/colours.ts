/** Colours of CSS, and how well text in one can be read on another. Pure. */

/** Red, green and blue from 0 to 1, and the opacity. */
type Colour = readonly [number, number, number, number];

const NAMED: Readonly<Record<string, string>> = {
  white: '#fff',
  snow: '#fffafa',
  ivory: '#fffff0',
  azure: '#f0ffff',
  mintcream: '#f5fffa',
  ghostwhite: '#f8f8ff',
  floralwhite: '#fffaf0',
  whitesmoke: '#f5f5f5',
  black: '#000',
  red: '#f00',
  blue: '#00f',
  green: '#008000',
  gray: '#808080',
  grey: '#808080',
  navy: '#000080',
  transparent: '#0000',
};

/** @returns null for a colour that is written in another way. */
export function parseColour(text: string): Colour | null {
  const value = text.trim().toLowerCase();
  const hex = /^#([0-9a-f]{3,8})$/.exec(NAMED[value] ?? value)?.[1];
  if (hex !== undefined) return parseHex(hex);
  const [, kind, list = ''] = /^(rgb|hsl)a?\(([^()]*)\)$/.exec(value) ?? [];
  const parts = list.split(/[\s,/]+/).filter((part) => part !== '');
  if (kind === undefined || parts.length < 3) return null;
  const read = (part: string | undefined, whole: number) =>
    Math.min(1, Math.max(0, Number.parseFloat(part ?? '1') / (part?.endsWith('%') ? 100 : whole)));
  const alpha = read(parts[3], 1);
  const colour: Colour =
    kind === 'rgb'
      ? [read(parts[0], 255), read(parts[1], 255), read(parts[2], 255), alpha]
      : [...fromHsl(Number.parseFloat(parts[0] ?? '0'), read(parts[1], 100), read(parts[2], 100)), alpha];
  return colour.some(Number.isNaN) ? null : colour;
}

function parseHex(hex: string): Colour | null {
  const pairs = hex.length <= 4 ? [...hex].map((digit) => digit + digit) : (hex.match(/../g) ?? []);
  const [red, green, blue, alpha = 1] = pairs.map((pair) => Number.parseInt(pair, 16) / 255);
  return red === undefined || green === undefined || blue === undefined ? null : [red, green, blue, alpha];
}

/** CSS Color 4 §7.1. */
function fromHsl(hue: number, saturation: number, lightness: number): [number, number, number] {
  const channel = (n: number): number => {
    const k = (n + hue / 30) % 12;
    return lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  };
  return [channel(0), channel(8), channel(4)];
}

/** Relative luminance (WCAG 2.2). */
const luminance = ([red, green, blue]: Colour): number => {
  const [r, g, b] = [red, green, blue].map((part) =>
    part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * (r ?? 0) + 0.7152 * (g ?? 0) + 0.0722 * (b ?? 0);
};

const CONTRAST_MIN = 1.15;
const OPACITY_MIN = 0.1;

export const isClear = (colour: Colour): boolean => colour[3] < OPACITY_MIN;

/** Whether nobody can read text of a colour on a background: it is clear, or the contrast (WCAG 2.2) is below 1.15. */
export function isUnreadable(text: Colour, background: Colour): boolean {
  const [dark = 0, light = 0] = [luminance(text), luminance(background)].sort((a, b) => a - b);
  return isClear(text) || (light + 0.05) / (dark + 0.05) < CONTRAST_MIN;
}
