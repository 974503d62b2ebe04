/** The page for unknown addresses under `/_/`. */
import { mount, Rail } from '../shared/page.tsx';
import { texts } from '../shared/texts/index.ts';

const t = texts.app.notFound;

function NotFound() {
  return (
    <>
      <Rail current={null} />
      <main id="main" className="page not-found stack">
        <h1>{t.title}</h1>
        <p className="muted">{t.text}</p>
        <p>
          <a className="button primary" href="/_/">
            {t.start}
          </a>
        </p>
      </main>
    </>
  );
}

mount(<NotFound />, 'notFound');
