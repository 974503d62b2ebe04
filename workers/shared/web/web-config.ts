/** Configuration of the web app, served at `/_/config.json`. It contains only what any visitor may know. */
export interface WebConfig {
  version: string;
  /** The products that this deployment serves. */
  products: ('storage' | 'leaderboard' | 'mail')[];
  /** URL of storage for signed requests; null if storage has the page's own origin. */
  storage_endpoint: string | null;
  mail_domains: string[];
  registration: 'closed' | 'invite' | 'open';
  /** Site key of the Turnstile widget; null if Turnstile is not configured. */
  turnstile_site_key: string | null;
  /** Whether passwords log in. */
  passwords: boolean;
  /** Name of the OpenID Connect provider, for its button; null if none is configured. */
  sign_in_with: string | null;
  /** Whether the provider's groups give temporary keys of storage. */
  storage_sign_in: boolean;
  /** Whether Cloudflare Access signs in. */
  access: boolean;
}
