/** Wildcards and variables inside policy documents. */

/** `*` stands for any characters, `?` for one; in linear time, whatever the pattern (no backtracking over more than the last star). */
export function matchWildcard(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < text.length) {
    if (pattern[p] === '?' || (pattern[p] === text[t] && pattern[p] !== '*')) {
      p++;
      t++;
    } else if (pattern[p] === '*') {
      star = p++;
      resume = t;
    } else if (star >= 0) {
      p = star + 1;
      t = ++resume;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}

/**
 * `${aws:username}` becomes the caller's; an unknown variable matches nothing (it becomes a character no ARN holds).
 * Wildcards inside a value would widen the pattern, so a value with one matches nothing either.
 */
export function substituteVariables(
  pattern: string,
  context: Readonly<Record<string, string | readonly string[] | undefined>>,
): string {
  return pattern.replace(/\$\{([^}]*)\}/g, (_, name: string) => {
    if (name === '*' || name === '?' || name === '$') return name;
    const value = context[name.toLowerCase()];
    return typeof value === 'string' && !/[*?]/.test(value) ? value : '\uffff';
  });
}
