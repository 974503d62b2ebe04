/** Configuration of the web app, at `/_/config.json`. Contains only what any visitor may know. */
export interface WebConfig {
  version: string;
  /** Products that this deployment serves. */
  products: ('storage' | 'leaderboard' | 'mail')[];
  /** Endpoint of signed storage requests; null for the page's own origin. */
  storage_endpoint: string | null;
  mail_domains: string[];
  registration: 'closed' | 'invite' | 'open';
  /** Site key of the Turnstile widget; null if challenges are off. */
  turnstile_site_key: string | null;
}
