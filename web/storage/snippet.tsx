/** A box with text to copy. The secret of the key is hidden on the screen, but is included in the copied text. */
import { useState } from 'react';
import { IconButton } from '../shared/icon-button.tsx';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { copyText } from './copy-text.ts';
import type { Key } from './s3.ts';

const t = storageTexts.connect;

interface Props {
  accessKey: Key;
  text: string;
  /** Name of the tool that the snippet is for. */
  label: string;
  isSecretShown?: boolean;
}

export function Snippet({ accessKey, text, label, isSecretShown = false }: Props) {
  const [isUnhidden, setUnhidden] = useState(false);
  const isPlain = isSecretShown || isUnhidden;
  return (
    <div className="snippet">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach a region that scrolls */}
      <pre tabIndex={0}>{isPlain ? text : text.replaceAll(accessKey.secretAccessKey, '••••••••')}</pre>
      <IconButton
        icon="copy"
        label={fill(t.copyOf, { tool: label })}
        onClick={() => void copyText(text).then((isCopied) => setUnhidden(!isCopied))}
      />
    </div>
  );
}
