/** What the web app is told of its deployment, at `/_/config.json`: nothing that a visitor may not know. */
export interface WebConfig {
  version: string;
  /** Where signed storage requests go; null: the page's own origin. */
  storage_endpoint: string | null;
  mail_domains: string[];
  registration: 'closed' | 'invite' | 'open';
}
