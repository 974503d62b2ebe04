/** Characters of a password. NIST SP 800-63B requires a minimum of at least 8 and a maximum of at least 64. */
export const PASSWORD_LENGTH_MIN = 8;
export const PASSWORD_LENGTH_MAX = 256;
