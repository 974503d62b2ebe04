/** Characters of a password (NIST SP 800-63B asks for 8 at least and 64 at most as the least maximum). */
export const PASSWORD_LENGTH_MIN = 8;
export const PASSWORD_LENGTH_MAX = 256;
