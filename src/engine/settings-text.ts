/**
 * Settings whose long members stay text on both ways between here and the engine, which keeps the text of the settings as
 * it gets it: before all members stands `longPlaces`, a list of places and lengths of long members, in UTF-16 units of the
 * text behind the list.
 */
import { jsonApart, parseApart, RawJson } from '../base/json.ts';
import { behindValue } from '../base/json-spans.ts';
import { completeStates } from './embedder-states.ts';
import type { IndexState } from './native.ts';

const PLACES = '{"longPlaces":[';

/** What is given to the engine for settings: with all that it must know of embedders, as an object when nothing is long. */
export function forEngine(
  settings: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | RawJson {
  const complete = completeStates(settings);
  const { texts, parts } = jsonApart(complete);
  if (parts.length === 0) return complete;
  const places: number[] = [];
  let text = '';
  for (const [n, piece] of texts.entries()) {
    text += n === 0 ? piece.slice(1) : piece;
    const part = parts[n]?.text;
    if (part === undefined) continue;
    places.push(text.length, part.length);
    text += part;
  }
  return new RawJson(`${PLACES}${places.join(',')}],${text}`);
}

/** Before the settings in the state of an index stands its primary key alone. */
const KEY = '{"primaryKey":';
const SETTINGS = ',"settings":';

/** The state of an index, from its JSON. */
export function readState(json: string): IndexState {
  const begin = behindValue(json, KEY.length) + SETTINGS.length;
  if (!json.startsWith(PLACES, begin)) {
    return { settings: null, ...(JSON.parse(json) as Partial<IndexState>) } as IndexState;
  }
  const end = json.indexOf(']', begin);
  const places = json
    .slice(begin + PLACES.length, end)
    .split(',')
    .map(Number);
  const texts: string[] = [];
  const parts: RawJson[] = [];
  // Behind the list and its comma.
  const base = end + 2;
  let from = base;
  for (let n = 0; n < places.length; n += 2) {
    const place = base + places[n]!;
    const behind = place + places[n + 1]!;
    texts.push(json.slice(from, place));
    parts.push(new RawJson(json.slice(place, behind)));
    from = behind;
  }
  texts.push(json.slice(from));
  texts[0] = `${json.slice(0, begin)}{${texts[0]!}`;
  return parseApart({ texts, parts }) as IndexState;
}
