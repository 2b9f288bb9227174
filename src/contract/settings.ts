/**
 * Handling of index settings in requests: checks, the canonical form (which task details show),
 * merging with the stored settings, and the form of GET. All of it follows from the entries of
 * `settings/registry.ts`.
 *
 * A field of a request has three states: absent keeps the setting, null resets it, a value is
 * stored. The stored settings are complete and hold secrets in clear.
 */
import { RawJson } from '../base/json.ts';
import { err, ok, type Result } from '../base/result.ts';
import { declared } from './declare.ts';
import { ApiError, featureNotEnabled } from './errors.ts';
import type { FeatureSet } from './features.ts';
import { floatsOf, type FloatMarker } from './floats.ts';
import { tooManyValues } from './schema-faults.ts';
import type { Schema } from './schema.ts';
import { SETTINGS } from './settings/registry.ts';
import { SETTING_GROUPS, isGiven, type Setting } from './settings/setting.ts';
import { validator } from './validator.ts';

export type SettingName = (typeof SETTINGS)[number]['name'];

/** Complete settings, in the order of GET. */
export type SettingsObject = {
  [Entry in (typeof SETTINGS)[number] as Entry['name']]: ReturnType<Entry['initial']>;
};

/**
 * The settings of a request in canonical form: details of tasks show them after
 * `renderPartialSettings`.
 */
export type PartialSettings = Partial<Record<SettingName, unknown>>;

/** The entries without the types of their values, in the order of GET. */
export const SETTING_ENTRIES = SETTINGS as unknown as readonly Setting<SettingName>[];

/** Maximum number of values in a setting that may not be long: see `Setting.mayBeLong`. */
export const SETTING_VALUES_MAX = 20_000;

/**
 * The schema of one setting: its meaning, what changing it costs, its code for every fault inside.
 */
function described(
  schema: Schema,
  { code, group, explanation, touches, mayBeLong, addition, feature, initial }: Setting,
): Schema {
  return {
    ...schema,
    ...(mayBeLong === true ? {} : { 'x-values-max': SETTING_VALUES_MAX }),
    description: explanation,
    'x-group': group,
    // `GET /settings` shows it only where it differs.
    ...(addition === true && feature === undefined ? { 'x-initial': initial() } : {}),
    'x-makes-anew': touches,
    'x-code': code,
    'x-key-code': code,
  };
}

/** Body of PATCH /settings. */
export const SETTINGS_SCHEMA = declared<Record<string, unknown>>({
  type: 'object',
  properties: Object.fromEntries(
    SETTING_ENTRIES.map((entry) => [entry.name, described(entry.schema, entry)]),
  ),
  'x-groups': SETTING_GROUPS,
  additionalProperties: false,
});

const WHOLE = validator(SETTINGS_SCHEMA);

/** Body of a child route: the bare value. */
export function childSchema(entry: Setting): Schema {
  return described(entry.childSchema ?? entry.schema, entry);
}

function entryOf(name: SettingName): Setting<SettingName> {
  return SETTING_ENTRIES.find((entry) => entry.name === name)!;
}

/** The settings that this program knows; dumps may contain others. */
export function knownSettings(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const known = SETTING_ENTRIES.filter(({ name }) => given[name] !== undefined);
  return Object.fromEntries(known.map(({ name }) => [name, given[name]]));
}

/** Converts a body of PATCH /settings to canonical form: keys in the order of GET. */
export function parseSettings(body: unknown): Result<PartialSettings, ApiError> {
  const checked = WHOLE.validate(body);
  return checked.ok ? ok(wholeSettings(checked.value)) : checked;
}

/** The canonical form of a valid body of PATCH /settings. */
export function wholeSettings(body: unknown): PartialSettings {
  return canonical(body as Record<string, unknown>);
}

/** The canonical form of the one setting whose child route got the valid `body`. */
export function childSetting(name: SettingName, body: unknown): PartialSettings {
  const { fromChildBody } = entryOf(name);
  return canonical({ [name]: fromChildBody === undefined ? body : fromChildBody(body) });
}

/** The change that a request makes. */
export interface SettingsChange {
  /** Canonical form. Long values of settings that may be long are JSON (`RawJson`). */
  settings: PartialSettings;
  /** The form to store, for those settings where it differs. */
  stored: PartialSettings;
}

/** Shorter JSON of a setting that may be long is converted to a value, UTF-16 units. */
const LONG_SETTING_UNITS = 16 * 1024;

/** Maximum JSON of all long values of an index together, UTF-16 units. */
const LONG_SETTINGS_UNITS_MAX = 8_000_000;

/** The JSON of a long value; null: it is none. */
function longText({ mayBeLong }: Setting, value: unknown): string | null {
  if (mayBeLong !== true || !isGiven(value)) return null;
  const text = JSON.stringify(value);
  return text.length < LONG_SETTING_UNITS ? null : text;
}

/** The change made by a large, valid body. For a separate thread: it may take seconds. */
export function longChange(name: SettingName | 'all', body: unknown): SettingsChange {
  const settings = name === 'all' ? wholeSettings(body) : childSetting(name, body);
  const stored: PartialSettings = {};
  for (const entry of SETTING_ENTRIES) {
    const value = settings[entry.name];
    const text = longText(entry, value);
    if (text === null) continue;
    settings[entry.name] = new RawJson(text);
    const merged = entry.merge?.(entry.initial(), value);
    if (merged?.ok !== true) continue;
    const storedText = JSON.stringify(merged.value);
    if (storedText !== text) stored[entry.name] = new RawJson(storedText);
  }
  return { settings, stored };
}

/**
 * Checks a valid request before the stored settings are known: features first, then each setting's
 * own checks. Pure: `features` are the current ones.
 */
export function checkPartialSettings(
  partial: PartialSettings,
  features: FeatureSet,
): ApiError | null {
  const given = SETTING_ENTRIES.filter(({ name }) => isGiven(partial[name]));
  for (const { name, feature } of given) {
    if (feature !== undefined && !features[feature]) {
      return featureNotEnabled(`Setting \`${name}\``, feature);
    }
  }
  for (const entry of given) {
    const fault = entry.check?.(partial[entry.name], features) ?? null;
    if (fault !== null) return fault;
  }
  return null;
}

/** Every setting reset: the meaning of DELETE /settings. */
export function resetAllSettings(features: FeatureSet): PartialSettings {
  const reset = SETTING_ENTRIES.filter(
    ({ feature, resetOnlyWithFeature }) => resetOnlyWithFeature !== true || features[feature!],
  );
  return canonical(Object.fromEntries(reset.map(({ name }) => [name, null])));
}

export function resetSetting(name: SettingName): PartialSettings {
  return canonical({ [name]: null });
}

function canonical(body: Record<string, unknown>): PartialSettings {
  const partial: PartialSettings = {};
  for (const entry of SETTING_ENTRIES) {
    if (!Object.hasOwn(body, entry.name)) continue;
    const value = body[entry.name];
    if (value === null) partial[entry.name] = entry.resetForm?.() ?? null;
    else partial[entry.name] = entry.canonical?.(value) ?? value;
  }
  return partial;
}

// --- Stored settings -----------------------------------------------------------------------------

export function defaultSettings(): SettingsObject {
  return Object.fromEntries(
    SETTING_ENTRIES.map((entry) => [entry.name, entry.initial()]),
  ) as SettingsObject;
}

/** The stored settings, with the defaults of settings that did not exist when they were stored. */
export function completeSettings(stored: Partial<SettingsObject> | null): SettingsObject {
  return { ...defaultSettings(), ...stored };
}

/**
 * The stored settings with a request applied. Checks that need the stored ones are made here; a
 * task fails with the returned error, and its index keeps its settings.
 * @param stored null: never set
 * @param partial canonical form
 * @param inStoredForm see `SettingsChange.stored`
 */
export function mergeSettings(
  stored: Partial<SettingsObject> | null,
  partial: PartialSettings,
  inStoredForm: PartialSettings = {},
): Result<SettingsObject, ApiError> {
  const merged: Record<SettingName, unknown> = completeSettings(stored);
  for (const entry of SETTING_ENTRIES) {
    const { name } = entry;
    if (!Object.hasOwn(partial, name)) continue;
    const change = partial[name];
    if (change === null) merged[name] = entry.initial();
    else if (change instanceof RawJson) merged[name] = inStoredForm[name] ?? change;
    else if (entry.merge === undefined) merged[name] = change;
    else {
      const value = entry.merge(merged[name], change);
      if (!value.ok) return value;
      const fault =
        entry.mayBeLong === true
          ? null
          : tooManyValues(value.value, SETTING_VALUES_MAX, entry.code);
      if (fault !== null) return err(fault.under(`.${name}`).toError());
      merged[name] = value.value;
    }
  }
  const long = SETTING_ENTRIES.filter(({ name }) => merged[name] instanceof RawJson);
  const units = long.reduce((sum, { name }) => sum + (merged[name] as RawJson).text.length, 0);
  const last = long.findLast(({ name }) => Object.hasOwn(partial, name));
  if (units > LONG_SETTINGS_UNITS_MAX && last !== undefined) {
    return err(
      new ApiError(
        last.code,
        `The settings of the index are too long: ${units} characters of JSON, at most ${LONG_SETTINGS_UNITS_MAX} are possible.`,
      ),
    );
  }
  return ok(merged as SettingsObject);
}

/** Marks the floats of settings in responses. */
export const withFloats: FloatMarker = floatsOf(SETTINGS_SCHEMA);

// --- Views ---------------------------------------------------------------------------------------

/**
 * The body of GET /settings: keys in order, without those of features that are off, without
 * secrets.
 */
export function renderSettings(
  complete: SettingsObject,
  features: FeatureSet,
): Record<string, unknown> {
  const shown = SETTING_ENTRIES.filter(
    (entry) =>
      (entry.feature === undefined || features[entry.feature]) &&
      (entry.addition !== true || !isInitial(entry, complete[entry.name])),
  );
  return Object.fromEntries(shown.map(({ name }) => [name, renderSetting(complete, name)]));
}

/** Whether it is the default. */
export function isInitial(entry: Setting, value: unknown): boolean {
  return !(value instanceof RawJson) && JSON.stringify(value) === JSON.stringify(entry.initial());
}

/** The body of a child GET. */
export function renderSetting(complete: SettingsObject, name: SettingName): unknown {
  const value = rendered(entryOf(name), complete[name]);
  return withFloats({ [name]: value })[name];
}

/** Task details of a canonical partial object: the same without secrets. */
export function renderPartialSettings(partial: PartialSettings): Record<string, unknown> {
  const given = Object.entries(partial).map(
    ([name, value]) => [entryOf(name as SettingName), value] as const,
  );
  const shown = given.filter(
    ([{ addition }, value]) => addition !== true || value !== null || given.length === 1,
  );
  return withFloats(
    Object.fromEntries(shown.map(([entry, value]) => [entry.name, reported(entry, value)])),
  );
}

function reported(entry: Setting, sent: unknown): unknown {
  return isGiven(sent) && entry.report !== undefined ? entry.report(sent) : rendered(entry, sent);
}

function rendered(entry: Setting, value: unknown): unknown {
  return isGiven(value) && entry.render !== undefined ? entry.render(value) : value;
}
