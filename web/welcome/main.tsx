/** `/_/`: the services, their health, and a first command for each. */
import { useEffect, useState } from 'react';
import { call } from '../shared/api.ts';
import { isServed, useConfig } from '../shared/config.ts';
import { mount, Rail } from '../shared/page.tsx';
import { isSignedInHere } from '../shared/signed-in.ts';
import './welcome.css';
import { fill } from '../shared/texts/index.ts';
import { welcomeTexts } from '../shared/texts/welcome.ts';

const t = welcomeTexts.page;

type Health = 'asking' | 'ok' | 'ill' | 'away';

function useHealth(): Health {
  const [health, setHealth] = useState<Health>('asking');
  useEffect(() => {
    call('/v1/health').then(
      () => setHealth('ok'),
      (error: { status?: number }) => setHealth(error.status === 503 ? 'ill' : 'away'),
    );
  }, []);
  return health;
}

const healthText = (): Record<Health, [string, string]> => ({
  asking: [t.asking, 'badge'],
  ok: [t.allStoresAnswer, 'badge good'],
  ill: [t.storeDoesNotAnswer, 'badge bad'],
  away: [t.notReachable, 'badge bad'],
});

function Welcome() {
  const health = useHealth();
  const config = useConfig();
  const endpoint = config?.storage_endpoint ?? location.origin;
  const [text, badge] = healthText()[health];
  return (
    <>
      <Rail current={null} />
      <main id="main" className="page welcome">
        <h1>{config === null || config.products.length === 3 ? t.threeServicesOnePlace : 'Tessera'}</h1>
        <p className="muted lead">{t.lead}</p>
        {isServed(config, 'mail') && (
          <p className="row wrap">
            {isSignedInHere() ? (
              <a className="button primary" href="/_/mail">
                {t.openMailbox}
              </a>
            ) : (
              <>
                {config && config.registration !== 'closed' && (
                  <a className="button primary" href="/_/mail#/register">
                    {t.createMailbox}
                  </a>
                )}
                <a className="button" href="/_/mail">
                  {t.signIn}
                </a>
              </>
            )}
          </p>
        )}
        <div className="tiles">
          {isServed(config, 'mail') && (
            <a className="tile mail" href="/_/mail">
              <h2>{t.mail}</h2>
              <p>{t.mailText}</p>
              {config?.mail_domains.length !== 0 && (
                <p className="small muted">
                  {config ? fill(t.mailNote, { mailDomains: config.mail_domains.join(', ') }) : '\u00a0'}
                </p>
              )}
            </a>
          )}
          {isServed(config, 'storage') && (
            <a className="tile storage" href="/_/storage">
              <h2>{t.storage}</h2>
              <p>{t.storageText}</p>
              <p className="small muted">{t.storageNote}</p>
            </a>
          )}
          {isServed(config, 'leaderboard') && (
            <a className="tile leaderboard" href="/_/leaderboard">
              <h2>{t.leaderboard}</h2>
              <p>{t.boardText}</p>
              <p className="small muted">{t.boardNote}</p>
            </a>
          )}
        </div>
        <section className="first-commands" aria-labelledby="first">
          <h2 id="first">{t.fromTerminal}</h2>
          <pre>
            {[
              `curl ${location.origin}/v1/health`,
              ...(isServed(config, 'leaderboard') ? [`curl ${location.origin}/v1/scores`] : []),
              ...(isServed(config, 'storage') ? [`aws --endpoint-url ${endpoint} s3 ls`] : []),
            ].join('\n')}
          </pre>
        </section>
        <p className="row wrap foot-links">
          <a href="/_/docs">{t.apiReference}</a>
          <a href="/_/operator">{t.operator}</a>
          <a href="/v1/openapi.json">{t.openapiDocument}</a>
          <span className={badge} role="status">
            {text}
          </span>
          {config && <span className="muted small">{fill(t.version, { version: config.version })}</span>}
        </p>
      </main>
    </>
  );
}

mount(<Welcome />, null);
