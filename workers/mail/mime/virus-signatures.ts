/** Known malicious files. For more, configure ClamAV (`CLAMD_ADDRESS`). */

/**
 * The EICAR test file. It is put together here so that scanners do not flag this source file:
 * https://www.eicar.org/download-anti-malware-testfile/
 */
export const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}', '$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('');

/** Names of malicious files by the SHA-256 of the whole file, in lower-case hexadecimal. One entry per line. */
export const BAD_FILES: ReadonlyMap<string, string> = new Map([
  ['275a021bbfb6489e54d471899f7db9d1663fc695ec2fe2a2c4538aabf651fd0f', 'EICAR test file'],
  ['2546dcffc5ad854d4ddc64fbf056871cd5a00f2471cb7a5bfd4ac23b6e9eedad', 'EICAR test file in a zip'],
  ['e1105070ba828007508566e28a2b8d4c65d192e9eaf3b7868382b7cae747b397', 'EICAR test file in a zip in a zip'],
]);
