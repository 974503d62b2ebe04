/** `/_/`: the services, their health, and a first command for each. */
import { useEffect, useState } from 'react';
import { call } from '../shared/api.ts';
import { isServed, useConfig } from '../shared/config.ts';
import { mount, Rail } from '../shared/page.tsx';
import './welcome.css';

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

const HEALTH_TEXT: Record<Health, [string, string]> = {
  asking: ['Asking …', 'badge'],
  ok: ['All stores answer', 'badge good'],
  ill: ['A store does not answer', 'badge bad'],
  away: ['Not reachable', 'badge bad'],
};

function Welcome() {
  const health = useHealth();
  const config = useConfig();
  const endpoint = config?.storage_endpoint ?? location.origin;
  const [text, badge] = HEALTH_TEXT[health];
  return (
    <>
      <Rail current={null} />
      <main id="main" className="page welcome">
        <h1>{config === null || config.products.length === 3 ? 'Three services, one place' : 'Tessera'}</h1>
        <p className="muted lead">
          Mail for people, buckets for programs, and a board that moves. Each has a page here and an API that does the
          same.
        </p>
        <p>
          <span className={badge} role="status">
            {text}
          </span>
        </p>
        <div className="tiles">
          {isServed(config, 'mail') && (
            <a className="tile mail" href="/_/mail">
              <h2>Mail</h2>
              <p>Read, write, search, filter. New messages appear by themselves.</p>
              {config && config.mail_domains.length > 0 && (
                <p className="small muted">Addresses at {config.mail_domains.join(', ')}</p>
              )}
            </a>
          )}
          {isServed(config, 'storage') && (
            <a className="tile storage" href="/_/storage">
              <h2>Storage</h2>
              <p>Buckets, folders and every version of every object, with an access key.</p>
              <p className="small muted">Speaks S3: aws, rclone, s3cmd, boto3</p>
            </a>
          )}
          {isServed(config, 'leaderboard') && (
            <a className="tile leaderboard" href="/_/leaderboard">
              <h2>Leaderboard</h2>
              <p>The month's standings as scores arrive. Find a player, look at past seasons.</p>
              <p className="small muted">Public, and made to be embedded</p>
            </a>
          )}
        </div>
        <section className="first-commands" aria-labelledby="first">
          <h2 id="first">From a terminal</h2>
          <pre>
            {[
              `curl ${location.origin}/v1/health`,
              ...(isServed(config, 'leaderboard') ? [`curl ${location.origin}/v1/scores`] : []),
              ...(isServed(config, 'storage') ? [`aws --endpoint-url ${endpoint} s3 ls`] : []),
            ].join('\n')}
          </pre>
        </section>
        <p className="row wrap foot-links">
          <a href="/_/docs">API reference</a>
          <a href="/_/operator">Operator</a>
          <a href="/v1/openapi.json">OpenAPI document</a>
          {config && <span className="muted small">Version {config.version}</span>}
        </p>
      </main>
    </>
  );
}

mount(<Welcome />);
