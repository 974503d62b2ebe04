/** Cost of hashing a password with scrypt: `N` rounds over blocks of `r`·128 bytes, `p` times. */
export interface PasswordCost {
  N: number;
  r: number;
  p: number;
}

/** Parameters of new hashes: those that OWASP recommends for 16 MiB of memory. The tests' build has a module with low ones instead. */
export const PASSWORD_COST: Readonly<PasswordCost> = { N: 16_384, r: 8, p: 5 };
