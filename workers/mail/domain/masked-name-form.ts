/** The form of masked addresses. The web app reads it too, so it imports nothing. */

/** Whether an address has the form of a masked one. Addresses of other kinds may have it too. */
export const isMaskedName = (email: string): boolean => /^[a-z0-9_]{1,50}\.[a-z]{3,8}\.\d{4}@/.test(email);
