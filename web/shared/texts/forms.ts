/** Plural forms of a text, by the language's categories: English has `one` and `other`. */
export type Forms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>;
