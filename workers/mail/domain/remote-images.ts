/**
 * Restores the addresses of remote images, so that they are loaded.
 * @param html result of `cleanHtml`, whose attributes are in canonical form.
 */
export const showRemoteImages = (html: string): string =>
  html.replaceAll(/(<img\b(?: [^ =>]+="[^"]*")*? )data-remote-src="/g, '$1src="');
