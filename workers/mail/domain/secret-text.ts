/**
 * Finds sign-in codes, passwords and links that sign in or reset, in the text of a mail, and takes them out. For programs that read
 * mail for a person: who reads a code or a reset link has the account that it opens.
 *
 * It is a net, not a proof. A secret is found by words beside it, in the languages of the lists below; `test/mail/unit/secret-text.test.ts`
 * counts what it misses and what it takes for a secret by mistake.
 */

export interface WithheldText {
  readonly text: string;
  /** The texts that were taken out. */
  readonly secrets: readonly string[];
}

const CODE_MARK = '[code withheld]';
const LINK_MARK = '[link withheld]';

/** Words beside a code. Parts of words count, because German and Dutch compound them and Japanese and Chinese have no spaces. */
const CODE_WORDS =
  /\b(?:otp|2fa|mfa|tan|pin|passcodes?|tokens?|cif(?:ra|re)|clave)\b|code|kod\b|код|código|codigo|codice|verif|vérif|authenti|one[- ]time|einmal|bestätig|sicherheits|zugangs|freigabe|confirm|conferma|valid(?:ation|er\b)|entrez|saisiss|introduc|ingres[ae]|digite|入力|à usage unique|un solo uso|uso único|sign[- ]?in|log[- ]?in|anmelde|connexion|identifi|コード|認証|確認|番号|暗証|ワンタイム|パスワード|验证码|驗證碼|인증/iu;

/** Words that name another kind of number, where a code word alone is no sign. */
const OTHER_NUMBERS =
  /(?:zip|postal|post|country|area|dial(?:ling|ing)?|error|status|source|qr|bar|dress|product|item|sort|swift|bic|promo(?:tion(?:al)?)?|discount|coupon|voucher|gift|gutschein|rabatt|aktions|fehler|vorwahl|länder|de réduction|promotionnel|postale?|de descuento|promocional|de erro|de barras|sconto|promozionale|di errore|de desconto|クーポン|エラー|郵便|商品|注文|伝票)[ -]?(?:code|kod|código|codigo|codice|コード|番号)|\bcode (?:promo|postal|barre|erreur|de réduction)|código (?:postal|promocional|de descuento|de barras|de error|de erro|de desconto)|codice (?:sconto|postale|promozionale|fiscale|errore)|(?:郵便|注文|電話|商品|追跡|伝票|会員|口座)番号|postleitzahl|\bplz\b/iu;

/** Words of mail about an account: a token in a link, or a lone code, is then a secret. */
const ACCOUNT_WORDS =
  /password|passwort|kennwort|mot de passe|contraseña|contrasenha|senha|パスワード|密码|reset|zurücksetz|réinitialis|restablec|redefin|reimpost|再設定|sign[- ]?in|log[- ]?in|anmeld|connexion|iniciar sesi|accedi|entrar na|ログイン|サインイン|verif|vérif|bestätig|confirm|activ|aktivier|認証|確認|登録|magic link|security|sicherheit|sécurité|seguridad|segurança|sicurezza|セキュリティ|account|konto|compte|cuenta|conta\b|アカウント/iu;

const PASSWORD =
  /(?:password|passwort|kennwort|passphrase|mot de passe|contraseña|senha|パスワード)[^\S\n]*(?:is|ist|lautet|est|es|é|è|は)?[^\S\n]*[:：=]?[^\S\n]*\n?[^\S\n]*["“„«「]?([^\s"”“»」<>]{6,64})/giu;

/** A code: 4 to 10 digits that may be grouped, or 5 to 14 capitals and digits that may be grouped. */
const CODES =
  /(?<![\p{L}\p{N}@#/.,:_-])(?:[A-Z]{1,3}-)?(?:\d{2,5}(?:[ \u00a0-]\d{2,5}){1,3}|\d{4,10}|(?=[A-Z0-9-]*\d)[A-Z0-9]{5,12}|(?=[A-Z0-9-]*\d)[A-Z0-9]{3,6}(?:-[A-Z0-9]{3,6}){1,3}|[A-Z]{4,6}-[A-Z]{4,6})(?![\p{L}\p{N}@%€$£/_-]|[.,:]\d)/gu;

/** Numbers that are no codes by their form. */
const isOther = (code: string, before: string, after: string): boolean =>
  /^(?:19|20)\d\d$/.test(code) ||
  /[€$£¥]\s?$|(?:EUR|USD|CHF|JPY|BRL)\s?$|[+(]\s?$|(?:tel|phone|telefon|téléphone|teléfono|fax)[.:]?\s*$/i.test(
    before,
  ) ||
  /^\s?(?:€|\$|£|¥|%|円|euros?\b|EUR|USD|CHF|JPY|km\b|kg\b|g\b|m\b|ml\b|Uhr|min|hours?|days?|tage|stunden)/i.test(
    after,
  ) ||
  /^(?:19|20)\d\d-\d\d-\d\d$|^\d\d-\d\d-(?:19|20)?\d\d$/.test(code);

/** How far before and after a code its word may be, in characters. A mail often has the code alone on a line below the word. */
const BEFORE = 140;
const AFTER = 60;

const LINKS = /https?:\/\/[^\s<>"'“”»」)\]]+/giu;
const LINK_WORDS =
  /reset|recover|verif|confirm|activat|magic|sign-?in|log-?in|sso|auth|otp|one-?time|password|passwort|token=|code=|invit|unlock|approve|validate|bestaetig|aktivier|reinitialis|restablec|redefin|reimpost/i;
const OPAQUE = /[A-Za-z0-9_-]{20,}/;

/** @param subject text whose words count too, because a mail's code often stands below a subject that names it. */
export function withholdSecrets(text: string, subject = ''): WithheldText {
  const secrets = new Set<string>();
  const isAccount = ACCOUNT_WORDS.test(`${subject}\n${text}`);
  for (const [link] of text.matchAll(LINKS)) if (isSecretLink(link, isAccount)) secrets.add(link);
  const plain = text.replace(LINKS, (link) => ' '.repeat(link.length));
  for (const match of plain.matchAll(PASSWORD)) if (isPassword(match[1] ?? '')) secrets.add(match[1] ?? '');
  for (const { 0: code, index } of plain.matchAll(CODES)) {
    const before = plain.slice(Math.max(0, index - BEFORE), index);
    const after = plain.slice(index + code.length, index + code.length + AFTER);
    if (!isOther(code, before, after) && isCode({ code, before, after }, subject, isAccount)) secrets.add(code);
  }
  return { text: maskAll(text, secrets), secrets: [...secrets] };
}

const isSecretLink = (link: string, isAccount: boolean): boolean => {
  const path = link.replace(/^https?:\/\/[^/]*/i, '');
  return (path.length > 1 && LINK_WORDS.test(path)) || (isAccount && OPAQUE.test(path));
};

/** A word in a sentence ("password for your account") is no password. */
const isPassword = (word: string): boolean => /\d|[!#$%&*+=?^_~]/.test(word.slice(0, -1)) || /[a-z][A-Z]/.test(word);

interface Place {
  readonly code: string;
  readonly before: string;
  readonly after: string;
}

function isCode({ code, before, after }: Place, subject: string, isAccount: boolean): boolean {
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const rest = after.slice(0, after.search(/\n|$/));
  if (OTHER_NUMBERS.test(`${line}${code}${rest}`.slice(-200))) return false;
  const isAlone = line.trim() === '' && /^[.。!]?\s*$/.test(rest);
  if (isAlone && (isAccount || CODE_WORDS.test(`${subject}\n${before}`))) return true;
  if (CODE_WORDS.test(`${line.slice(-80)} ${rest.slice(0, 50)}`)) return true;
  // The line before may end with the word: "Your code:" and the code below it, with words behind.
  return line.trim() === '' && CODE_WORDS.test(before.trimEnd().split('\n').at(-1) ?? '');
}

/** Takes texts out wherever they occur: a code in a subject is often in the text as well. */
export function maskAll(text: string, secrets: Iterable<string>): string {
  const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
  return longestFirst.reduce(
    (masked, secret) => masked.replaceAll(secret, /^https?:/i.test(secret) ? LINK_MARK : CODE_MARK),
    text,
  );
}
