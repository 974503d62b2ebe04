/**
 * Words beside secrets, by their stems, because languages compound and inflect them and some have no spaces. The lists are wide on
 * purpose: what a word beside a number costs is one withheld number.
 */

/** Words beside a code. */
export const CODE_WORDS =
  /\b(?:otp|2fa|mfa|tan|pin|puk|passcodes?|tokens?|cif(?:ra|re)|clave)\b|code|kod\b|kod[iu]\b|koodi|код|código|codigo|codice|cód|verif|vérif|authenti|one[- ]time|einmal|bestätig|sicherheits|zugangs|freigabe|confirm|conferma|valid(?:ation|er\b)|à usage unique|un solo uso|uso único|sign[- ]?in|log[- ]?in|anmelde|connexion|identifi|iniciar sesi|recovery|backup|コード|認証|確認|番号|暗証|ワンタイム|パスワード|验证码|驗證碼|动态码|인증|비밀번호|şifre|giriş|парол|подтвержд|رمز|تحقق|קוד|κωδικ|hasł|heslo|jelszó|lösen|engångs|mật khẩu|รหัส|सत्यापन|ओटीपी/iu;

/** Words that ask to enter something. They count only next to a code. */
export const ENTER_BEFORE =
  /(?:\b(?:enter|type(?: in)?|use|open it with|entrez|saisiss\S*|introdu\S*|ingres[ae]\S*|digit[ae]\S*|us[ae]|utili\S+|inserisc\S*|wpisz|voer|gib)|введите|输入|輸入|입력)(?: (?:le|la|el|lo|il|o|os|den|die|das|de|the|this|it))?:?\s*$/iu;
export const ENTER_AFTER =
  /^\s*(?:ein(?:geben|tippen)?\b|in\b(?=.{0,40}(?:app|screen|page|website))|para (?:entrar|acceder|continuar)|girin|yazın|in te loggen|を入力|入力|입력|to (?:sign|log) in|pour (?:vous connecter|continuer))/iu;

/** Words that name another kind of number, where a code word alone is no sign. */
export const OTHER_NUMBERS =
  /(?:zip|postal|post|country|area|dial(?:ling|ing)?|error|status|source|qr|bar|dress|product|item|sort|swift|bic|promo(?:tion(?:al)?)?|discount|coupon|voucher|gift|gutschein|rabatt|aktions|fehler|vorwahl|länder|de réduction|promotionnel|postale?|de descuento|promocional|de erro|de barras|sconto|promozionale|di errore|de desconto|クーポン|エラー|郵便|商品|注文|伝票)[ -]?(?:codes?|kod|código|codigo|codice|コード|番号)|\bcode (?:promo|postal|barre|erreur|de réduction|de la route)|código (?:postal|promocional|de descuento|de barras|de error|de erro|de desconto)|codice (?:sconto|postale|promozionale|fiscale|errore)|kod pocztowy|(?:郵便|注文|電話|商品|追跡|伝票|会員|口座|お客様)番号|postleitzahl|\bplz\b|at checkout|an der kasse/iu;

/** Words of mail about an account: a token in a link, or a lone code, is then a secret. */
export const ACCOUNT_WORDS =
  /password|passwort|kennwort|mot de passe|contraseña|contrasenha|senha|passcode|パスワード|密码|reset|zurücksetz|réinitialis|restablec|redefin|reimpost|再設定|sign[- ]?in|log[- ]?in|anmeld|connexion|iniciar sesi|accedi|entrar na|ログイン|サインイン|verif|vérif|bestätig|confirm|activ|aktivier|認証|確認|登録|magic link|security|sicherheit|sécurité|seguridad|segurança|sicurezza|セキュリティ|account|konto|compte|cuenta|conta\b|アカウント|hasł|şifre|hesab|парол|аккаунт|jelszó|heslo|wachtwoord|lösenord|비밀번호|계정|كلمة المرور|backup codes|recovery codes/iu;

/** Words before a password, which may stand a few words on. */
export const PASSWORD_WORDS =
  /pass(?:word|wort|phrase|code|wd)|\bpass\b|\bpwd?\b|\bpw\b|kennwort|passord|mot de passe|\bmdp\b|contraseña|contrasenha|\bclave\b|\bsenha|wachtwoord|hasł[oa]|şifre|parola|парол|lösenord|jelszó|heslo|salasana|adgangskode|パス(?:ワード)?(?=[はを:\s])|密码|密碼|비밀번호|كلمة المرور|סיסמ|κωδικός|mật khẩu|credential|zugangsdaten|secret/iu;

/** Words right before a key. */
export const KEY_WORDS =
  /(?:\bkey|schlüssel|\bclé|chiave|chave|llave|token|secret|ключ|キー|密钥|키)["']?\s*(?:is|ist|est|es|é|è|:|=|は)?\s*["']?$/iu;

/** Words in the path or the parameters of a link that signs in, resets or confirms. */
export const LINK_WORDS =
  /reset|recover|verif|confirm|activ|magic|sign-?in|log-?in|sso|auth|otp|one-?time|passw|\bpw\b|kennwort|senha|clave|hasl|heslo|sifre|parola|token|jeton|\btok\b|[?&;](?:code|key|k|c|t|tok|otp|pin)=|invit|unlock|approve|validat|bestaetig|aktivier|reinit|restablec|redefin|reimpost|regist/i;
