/** The upgrade with more players and shards, and a roll-back of the Worker. */
import './upgrade.test.ts';
