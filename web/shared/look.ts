/** The user's choice of theme, density and language, kept on this device and applied to the whole page. */
import { createStore } from './store.ts';

export type Theme = 'system' | 'light' | 'dark' | 'contrast';
export type Density = 'comfortable' | 'compact';

export interface Look {
  theme: Theme;
  density: Density;
  /** Chosen language as a BCP 47 tag; empty for the browser's languages. */
  language: string;
}

export const THEMES: readonly Theme[] = ['system', 'light', 'dark', 'contrast'];
export const DENSITIES: readonly Density[] = ['comfortable', 'compact'];

const KEY = 'tessera.look';
const DEFAULT: Look = { theme: 'system', density: 'comfortable', language: '' };

/** Without local storage (some private windows), a choice lasts as long as the page. */
function readLook(): Look {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Look>;
    return {
      theme: THEMES.find((one) => one === kept.theme) ?? DEFAULT.theme,
      density: DENSITIES.find((one) => one === kept.density) ?? DEFAULT.density,
      language: typeof kept.language === 'string' ? kept.language : '',
    };
  } catch {
    return DEFAULT;
  }
}

export const look = createStore<Look>(readLook());

const matches = (query: string): boolean => globalThis.matchMedia?.(query).matches ?? false;

function apply(): void {
  const { theme, density, language } = look.get();
  const isDark = theme === 'dark' || (theme !== 'light' && matches('(prefers-color-scheme: dark)'));
  const isContrast = theme === 'contrast' || matches('(prefers-contrast: more)');
  const { dataset } = document.documentElement;
  dataset.scheme = isDark ? 'dark' : 'light';
  dataset.contrast = isContrast ? 'more' : 'normal';
  dataset.density = density;
  if (language) document.documentElement.lang = language;
}

export function setLook(part: Partial<Look>): void {
  look.set(part);
  try {
    localStorage.setItem(KEY, JSON.stringify(look.get()));
  } catch {
    // Storage is unavailable, so the choice lasts as long as the page (see `readLook`).
  }
  apply();
}

/** Applies the stored choice, and again whenever the system's settings or another tab change it. */
export function startLook(): void {
  apply();
  for (const query of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)'])
    matchMedia(query).addEventListener('change', apply);
  addEventListener('storage', (event) => {
    if (event.key !== KEY) return;
    look.set(readLook());
    apply();
  });
}

/** Languages for texts, dates and numbers; undefined to use the browser's. */
export const localeOf = (): string | undefined => look.get().language || undefined;
