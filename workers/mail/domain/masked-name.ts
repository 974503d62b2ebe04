/** Names of masked addresses: `word.word.1234`, drawn at random, with nothing of the person in them. */
import { randomInt } from 'node:crypto';

/** Short everyday words of one meaning, none of them a name of a person, a service or a role. 160 × 160 × 10,000 names. */
const WORDS =
  `acorn alder amber anchor apple apron arrow aspen autumn badge bamboo banjo barley basil basket beacon birch bison blanket
blossom bonnet bottle bramble branch bread brick bridge bronze brook broom bucket button cabin candle canoe canvas carpet castle cedar
cherry chess chestnut clover cobalt cocoa comet copper coral cotton cradle crayon cricket crystal cymbal daisy desert dolphin donkey
drum dune eagle ember fabric falcon feather fennel fern fiddle field flannel flint flute forest fossil fountain garden garnet ginger
glacier glove gravel guitar hammer harbor harvest hazel heron hickory honey indigo island ivory jacket jasmine jigsaw juniper kettle
kite ladder lagoon lantern laurel lemon lentil lilac linen lizard lumber magnet mango maple marble meadow melon mitten mosaic
mountain mustard nectar needle nutmeg oasis oboe olive onion orbit orchard osprey otter paddle paper parsley pebble pepper pickle
piano pillow pine planet plum pocket poppy potter prairie puffin pumpkin quartz quilt rabbit radish raven ribbon river robin
rocket saddle saffron sandal sparrow`.split(/\s+/);

const drawWord = (): string => WORDS[randomInt(WORDS.length)] ?? 'maple';

/** Maximum length of a prefix that a client asks for. With a word and the digits, the local part has at most 64 characters. */
const PREFIX_LENGTH_MAX = 50;

/** @param prefix `[a-z0-9_]*`, in place of the first word; null or empty for a drawn one. @returns the local part of a new address. */
export function inventMaskedName(prefix: string | null): string {
  const start = (prefix || drawWord()).slice(0, PREFIX_LENGTH_MAX);
  return `${start}.${drawWord()}.${String(randomInt(10_000)).padStart(4, '0')}`;
}
