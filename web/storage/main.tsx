/** `/_/storage`: buckets and objects, with an access key. */
import { useRoute } from '../shared/hash-route.ts';
import { mount, Rail } from '../shared/page.tsx';
import { useStore } from '../shared/store.ts';
import { texts } from '../shared/texts/index.ts';
import { Browser } from './browser.tsx';
import { Buckets } from './buckets.tsx';
import { setKey, signedIn } from './key.ts';
import { ObjectPanel } from './object-panel.tsx';
import { SignIn } from './sign-in.tsx';
import './storage.css';
import { UploadList } from './upload-list.tsx';

function Storage() {
  const key = useStore(signedIn, (state) => state.key);
  const isAsking = useStore(signedIn, (state) => state.isAsking);
  const { parts, query } = useRoute();
  const bucket = parts[0] === 'b' ? (parts[1] ?? null) : null;
  const prefix = query.get('prefix') ?? '';
  const open = query.get('key');
  return (
    <div className="storage">
      <Rail
        current="storage"
        account={key && { name: texts.app.storage.account, detail: key.accessKeyId, onSignOut: () => setKey(null) }}
      />
      <main id="main">
        {!key && !isAsking && <SignIn />}
        {key && bucket === null && <Buckets accessKey={key} />}
        {key && bucket !== null && (
          <div className={open ? 'places with-object' : 'places'}>
            {/* On a phone the object covers the browser, so the heading is outside. */}
            <h1 className="visually-hidden">{`${bucket}/${prefix}`}</h1>
            <Browser accessKey={key} bucket={bucket} prefix={prefix} open={open} />
            {open && (
              <ObjectPanel key={`${bucket}/${open}`} accessKey={key} bucket={bucket} prefix={prefix} name={open} />
            )}
          </div>
        )}
        {key && <UploadList />}
      </main>
    </div>
  );
}

mount(<Storage />);
