/** `/_/storage`: buckets and objects, with an access key. */
import { lazy, Suspense } from 'react';
import { ConfirmationDialog } from '../shared/confirmation.tsx';
import { toHash, useRoute } from '../shared/hash-route.ts';
import { mount, Rail } from '../shared/page.tsx';
import { useStore } from '../shared/store.ts';
import { texts } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { Browser } from './browser.tsx';
import { BucketHead, TABS } from './bucket-head.tsx';
import { Buckets } from './buckets.tsx';
import { Connect } from './connect.tsx';
import { History } from './history.tsx';
import { signedIn } from './key.ts';
import { ObjectPanel } from './object-panel.tsx';
import { OwnKeys } from './own-keys.tsx';
import type { Key } from './s3.ts';
import { SignIn } from './sign-in.tsx';
import { signOut } from './sign-out.ts';
import './storage.css';
import { UploadList } from './upload-list.tsx';

/** The settings contain the policy engine, so their code is loaded when they are opened. */
const Settings = lazy(() => import('./settings.tsx').then((module) => ({ default: module.Settings })));
const ServerJobs = lazy(() => import('./server-jobs.tsx').then((module) => ({ default: module.ServerJobs })));

interface Place {
  accessKey: Key;
  bucket: string;
  prefix: string;
}

function BucketPage({ place, tab: named, open }: { place: Place; tab: string | undefined; open: string | null }) {
  const { bucket, prefix } = place;
  const tab = TABS.find((one) => one === named) ?? 'objects';
  return (
    <div className={open ? 'places with-object' : 'places'}>
      {/* The page's heading is outside of the `Browser` component, because on a phone an open object covers that component. */}
      <h1 className="visually-hidden">{`${bucket}/${prefix}`}</h1>
      <div className="bucket">
        <BucketHead bucket={bucket} prefix={prefix} tab={tab} />
        {tab === 'objects' && <Browser {...place} open={open} />}
        {tab === 'versions' && <History key={`${bucket}/${prefix}`} {...place} />}
        {tab === 'settings' && (
          <Suspense fallback={<p className="bucket-page muted">{storageTexts.loading}</p>}>
            <Settings key={bucket} accessKey={place.accessKey} bucket={bucket} />
          </Suspense>
        )}
        {tab === 'jobs' && (
          <Suspense fallback={<p className="bucket-page muted">{storageTexts.loading}</p>}>
            <ServerJobs key={bucket} {...place} />
          </Suspense>
        )}
        {tab === 'connect' && <Connect accessKey={place.accessKey} bucket={bucket} />}
      </div>
      {open && <ObjectPanel key={`${bucket}/${open}`} {...place} name={open} />}
    </div>
  );
}

function TopTabs({ isKeys }: { isKeys: boolean }) {
  const { places } = storageTexts;
  return (
    <nav className="tabs top-tabs" aria-label={places.title}>
      <a href={toHash([])} aria-current={isKeys ? undefined : 'page'}>
        {places.buckets}
      </a>
      <a href={toHash(['keys'])} aria-current={isKeys ? 'page' : undefined}>
        {places.keys}
      </a>
    </nav>
  );
}

function Storage() {
  const key = useStore(signedIn, (state) => state.key);
  const isAsking = useStore(signedIn, (state) => state.isAsking);
  const { parts, query } = useRoute();
  const bucket = parts[0] === 'b' ? (parts[1] ?? null) : null;
  const isKeys = parts[0] === 'keys';
  return (
    <div className="storage">
      <Rail
        current="storage"
        account={
          key && {
            name: key.ownerName || texts.app.storage.account,
            detail: key.accessKeyId,
            id: key.ownerEmail,
            onSignOut: () => void signOut(),
          }
        }
      />
      <main id="main">
        {!key && !isAsking && <SignIn />}
        {key && bucket === null && <TopTabs isKeys={isKeys} />}
        {key && bucket === null && (isKeys ? <OwnKeys accessKey={key} /> : <Buckets accessKey={key} />)}
        {key && bucket !== null && (
          <BucketPage
            place={{ accessKey: key, bucket, prefix: query.get('prefix') ?? '' }}
            tab={parts[2]}
            open={query.get('key')}
          />
        )}
        {key && <UploadList />}
      </main>
      <ConfirmationDialog />
    </div>
  );
}

mount(<Storage />, 'storage');
