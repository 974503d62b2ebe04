/** What an account of each type may have. Each number can be set by a variable of the same name. */

export const ACCOUNT_TYPES = ['personal', 'business'] as const;
export type AccountType = (typeof ACCOUNT_TYPES)[number];

export interface AccountLimits {
  /** Of all attachments of one message, decoded. */
  readonly attachmentBytes: number;
  readonly quotaBytes: number;
}

const MB = 1024 * 1024;
const DEFAULTS: Record<AccountType, AccountLimits> = {
  personal: { attachmentBytes: 25 * MB, quotaBytes: 5 * 1024 * MB },
  business: { attachmentBytes: 50 * MB, quotaBytes: 50 * 1024 * MB },
};

/** Variables: `PERSONAL_ATTACHMENT_BYTES`, `PERSONAL_QUOTA_BYTES`, `BUSINESS_ATTACHMENT_BYTES`, `BUSINESS_QUOTA_BYTES`. */
export function readLimits(env: Env, accountType: string): AccountLimits {
  const type: AccountType = accountType === 'business' ? 'business' : 'personal';
  const variables = env as unknown as Record<string, string | undefined>;
  const read = (name: string, fallback: number) => Number(variables[`${type.toUpperCase()}_${name}`] ?? '') || fallback;
  return {
    attachmentBytes: read('ATTACHMENT_BYTES', DEFAULTS[type].attachmentBytes),
    quotaBytes: read('QUOTA_BYTES', DEFAULTS[type].quotaBytes),
  };
}
