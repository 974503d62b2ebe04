/** Limits of accounts, by account type. */
import { settingsOf } from '../../shared/settings/settings.ts';

export const ACCOUNT_TYPES = ['personal', 'business'] as const;
export interface AccountLimits {
  /** Maximum size of all attachments of one message together, after decoding. */
  readonly attachmentBytes: number;
  readonly quotaBytes: number;
}

/** Reads the limits of an account type from the settings. @throws MisconfiguredError if a setting has a bad value. */
export function readLimits(env: Env, accountType: string): AccountLimits {
  const settings = settingsOf(env);
  if (accountType === 'business') {
    return { attachmentBytes: settings.BUSINESS_ATTACHMENT_BYTES, quotaBytes: settings.BUSINESS_QUOTA_BYTES };
  }
  return { attachmentBytes: settings.PERSONAL_ATTACHMENT_BYTES, quotaBytes: settings.PERSONAL_QUOTA_BYTES };
}
