/** The place of the question whether an agent may connect: without the mailbox, which is not loaded for it. */
import { lazy, Suspense } from 'react';
import { ConfirmationDialog } from '../shared/confirmation.tsx';
import { Rail } from '../shared/page.tsx';
import { mailTexts } from '../shared/texts/mail.ts';

const ConnectPage = lazy(() => import('./settings/connect.tsx').then((module) => ({ default: module.ConnectPage })));

export function Connect() {
  return (
    <>
      <Rail current="mail" />
      <main id="main">
        <Suspense fallback={<p className="muted loading">{mailTexts.main.loading}</p>}>
          <ConnectPage />
        </Suspense>
      </main>
      <ConfirmationDialog />
    </>
  );
}
