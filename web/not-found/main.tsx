/** The page for unknown addresses under `/_/`. */
import { mount, Rail } from '../shared/page.tsx';

mount(
  <>
    <Rail current={null} />
    <main id="main" className="page not-found stack">
      <h1>Page not found</h1>
      <p className="muted">There is no page at this address. The link may be old, or the address may have a typo.</p>
      <p>
        <a className="button primary" href="/_/">
          Go to the start page
        </a>
      </p>
    </main>
  </>,
);
