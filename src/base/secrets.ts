/**
 * How values that can be credentials are shown: API keys, headers, user info and query of URLs. The
 * only file that decides this. A masked value that comes back represents the stored one
 * (`unmasked...`).
 *
 * The name or the value decides whether a header or a parameter can be a credential: short values
 * under harmless names, such as `X-Team: search` or `?v=2`, are shown as they are.
 */

type Texts = Readonly<Record<string, string>>;

/** Shorter values are no credentials, unless their name says so. Bytes. */
const CREDENTIAL_BYTES_MIN = 8;

const SECRET_NAME =
  /auth|key|token|secret|passw|pwd|passphrase|credential|signature|session|cookie|jwt|bearer|^sig$|^pass$/i;

/** Headers and parameters whose values are never credentials, whatever their length. */
const HARMLESS_NAMES = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'connection',
  'host',
  'content-encoding',
  'content-length',
  'content-type',
  'user-agent',
  'origin',
  'api-version',
  'version',
  'model',
]);

/** The word before a credential in a header (RFC 9110, 11.1). */
const SCHEME = /^(?:Bearer|Basic|Token|ApiKey|Digest|Negotiate) +/i;

function canBeCredential(name: string, value: string): boolean {
  if (value === '' || HARMLESS_NAMES.has(name.toLowerCase())) return false;
  return SECRET_NAME.test(name) || Buffer.byteLength(value) >= CREDENTIAL_BYTES_MIN;
}

// --- Views ---------------------------------------------------------------------------------------

/**
 * The number of bytes kept depends on the length of the secret; the cut moves forward to a
 * character boundary. A masked text stays unchanged.
 */
export function masked(secret: string): string {
  if (isMasked(secret)) return secret;
  const bytes = Buffer.from(secret);
  if (bytes.length < 10) return 'XXX...';
  const [kept, mask] =
    bytes.length < 20 ? [2, 'XXXX...'] : bytes.length < 30 ? [3, 'XXXXX...'] : [5, 'XXXXXX...'];
  let cut = kept;
  while (cut < bytes.length && (bytes[cut]! & 0xc0) === 0x80) cut++;
  return bytes.toString('utf8', 0, cut) + mask;
}

/** Whether a text could be the output of {@link masked}. */
export function isMasked(text: string): boolean {
  return /^.{0,5}?X{3,6}\.\.\.$/su.test(text);
}

export function maskedHeaders(headers: Texts): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, maskedHeader(name, value)]),
  );
}

function maskedHeader(name: string, value: string): string {
  if (!canBeCredential(name, value)) return value;
  const scheme = SCHEME.exec(value)?.[0] ?? '';
  return scheme + masked(value.slice(scheme.length));
}

/**
 * Unchanged unless it contains something to mask. For a text that is no URL, nothing that could be
 * a credential is shown.
 */
export function maskedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return /[@?#=]/.test(text) ? masked('') : text;
  const parts = maskedParts(url);
  if (parts === null) return text;
  url.username = parts.username;
  url.password = parts.password;
  url.search = parts.search;
  url.hash = parts.hash;
  return url.href;
}

/** null: nothing is masked. */
function maskedParts(url: URL): Pick<URL, 'username' | 'password' | 'search' | 'hash'> | null {
  const { username, password, search, hash } = url;
  const shown = {
    username: username === '' ? '' : masked(unescaped(username)),
    password: password === '' ? '' : masked(unescaped(password)),
    search: maskedQuery(search),
    hash: hash.length > CREDENTIAL_BYTES_MIN ? masked(hash.slice(1)) : hash,
  };
  const isSame =
    username === '' && password === '' && shown.search === search && shown.hash === hash;
  return isSame ? null : shown;
}

/** @param search with its `?`, or empty */
function maskedQuery(search: string): string {
  if (search === '') return '';
  const pairs = search.slice(1).split('&');
  return `?${pairs.map(maskedPair).join('&')}`;
}

function maskedPair(pair: string): string {
  const { name, value } = pairOf(pair);
  if (!canBeCredential(decoded(name ?? ''), decoded(value))) return pair;
  return (name === null ? '' : `${name}=`) + encodeURIComponent(masked(decoded(value)));
}

/** A pair without `=` is a value without a name. */
function pairOf(pair: string): { name: string | null; value: string } {
  const at = pair.indexOf('=');
  return at < 0
    ? { name: null, value: pair }
    : { name: pair.slice(0, at), value: pair.slice(at + 1) };
}

/** A decoded name or value of a query. */
function decoded(text: string): string {
  return unescaped(text.replaceAll('+', ' '));
}

/** Decodes `%` escapes; returns the text unchanged if they are malformed. */
export function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** JSON in which texts under credential names are masked, at any depth. */
export function maskedMembers(value: unknown): unknown {
  return mapMembers(value, (name, text) => (isSecretMember(name, text) ? masked(text) : text));
}

/** A placeholder of a template is no secret. */
function isSecretMember(name: string, text: string): boolean {
  return SECRET_MEMBER.test(name) && !text.includes('{{') && text !== '';
}

/** Credential names in a request, where `max_tokens` or `keywords` are no credentials. */
const SECRET_MEMBER =
  /^(?:.*[-_])?(?:api[-_]?key|key|token|secret|password|passwd|pwd|authorization|auth|credentials?|signature|bearer|jwt|session|cookie)$|(?:Key|Token|Secret|Password|Credentials?)$/i;

function mapMembers(value: unknown, map: (name: string, text: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => mapMembers(item, map));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      typeof member === 'string' ? map(name, member) : mapMembers(member, map),
    ]),
  );
}

/** A text of our own, such as an error message: masks URLs, and credentials after their scheme. */
export function withoutSecrets(text: string): string {
  return text
    .replace(URLS, (url) => maskedUrl(url))
    .replace(CREDENTIALS, (_, scheme: string, value: string) => scheme + masked(value));
}

const URLS = /\bhttps?:\/\/[^\s"'`<>\\]+/gi;
const CREDENTIALS = /\b((?:Bearer|Basic|Token|ApiKey) +)([\w.~+/=-]{8,})/gi;

// --- Values that come back -----------------------------------------------------------------------

/** @returns `stored` when `given` is its masked form */
export function unmasked(given: string, stored: unknown): string {
  return typeof stored === 'string' && given === masked(stored) ? stored : given;
}

/** Header names are compared without regard to case. */
export function unmaskedHeaders<V extends string | null>(
  given: Readonly<Record<string, V>>,
  stored: Texts,
): Record<string, V> {
  const known = new Map(Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]));
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const before = known.get(name.toLowerCase());
      const isShown =
        before !== undefined && value !== null && value === maskedHeader(name, before);
      return [name, isShown ? (before as V) : value];
    }),
  );
}

/**
 * Restores a masked URL, whole or in parts: for the same server each masked part becomes the stored
 * one, so that a path can be changed without the credentials. Another server never gets them.
 */
export function unmaskedUrl(given: string, stored: unknown): string {
  if (typeof stored !== 'string') return given;
  if (given === maskedUrl(stored)) return stored;
  if (!URL.canParse(given) || !URL.canParse(stored)) return given;
  const url = new URL(given);
  const before = new URL(stored);
  const shown = maskedParts(before);
  if (url.origin !== before.origin || shown === null) return given;
  let changed = false;
  for (const part of ['username', 'password', 'hash'] as const) {
    const given = part === 'hash' ? url.hash.slice(1) : url[part];
    if (before[part] === shown[part] || unescaped(given) !== shown[part]) continue;
    url[part] = before[part];
    changed = true;
  }
  const pairs = new Map(
    before.search
      .slice(1)
      .split('&')
      .map((pair) => [maskedPair(pair), pair]),
  );
  const search = url.search
    .slice(1)
    .split('&')
    .map((pair) => pairs.get(pair) ?? pair)
    .join('&');
  if (search !== url.search.slice(1)) {
    url.search = search;
    changed = true;
  }
  return changed ? url.href : given;
}

/** Restores JSON that {@link maskedMembers} has masked. */
export function unmaskedMembers(given: unknown, stored: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given;
  if (Array.isArray(given)) {
    const before = Array.isArray(stored) ? stored : [];
    return given.map((item, n) => unmaskedMembers(item, before[n]));
  }
  const before = (typeof stored === 'object' && stored !== null ? stored : {}) as Record<
    string,
    unknown
  >;
  return Object.fromEntries(
    Object.entries(given).map(([name, member]) => {
      const known = Object.hasOwn(before, name) ? before[name] : undefined;
      if (typeof member !== 'string') return [name, unmaskedMembers(member, known)];
      const isShown = typeof known === 'string' && isSecretMember(name, known);
      return [name, isShown ? unmasked(member, known) : member];
    }),
  );
}

// --- Texts of others -----------------------------------------------------------------------------

/** Characters of another server's text that are examined; the rest is cut off. */
const TEXT_LENGTH_MAX = 16 * 1024;
/** Pieces of this length of a longer secret are hidden, so that half a secret is hidden as well. */
const PIECE_LENGTH = 8;
/** Total length of the secrets of a request that are searched for, characters. */
const SECRETS_LENGTH_MAX = 8 * 1024;
/** Shorter secrets are not searched for: they would be found in any text. */
const SECRET_LENGTH_MIN = 4;
const HIDDEN = '***';

/** The parts of a request that can be credentials. */
export interface SentSecrets {
  url: URL;
  headers: Texts;
  /** Settings of embedders, or the template of a request. */
  body?: unknown;
}

/**
 * Removes what a request sent from the response texts of its receiver: as sent, escaped for URLs,
 * JSON and HTML, in base64 and in hexadecimal, in any letter case, and in pieces.
 */
export class SecretFilter {
  readonly #pieces = new Set<string>();
  readonly #short = new Set<string>();

  constructor(sent: SentSecrets) {
    let left = SECRETS_LENGTH_MAX;
    for (const secret of new Set(secretsIn(sent))) {
      for (const form of formsOf(secret.slice(0, left))) this.#add(lower(form));
      left = Math.max(0, left - secret.length);
    }
  }

  #add(form: string): void {
    if (form.length < SECRET_LENGTH_MIN) return;
    if (form.length < PIECE_LENGTH) this.#short.add(form);
    for (let at = 0; at + PIECE_LENGTH <= form.length; at++) {
      this.#pieces.add(form.slice(at, at + PIECE_LENGTH));
    }
  }

  /** The beginning of a text, without secrets. */
  hide(text: string): string {
    const cut = text.slice(0, TEXT_LENGTH_MAX);
    const compared = lower(cut);
    const isHidden = new Uint8Array(cut.length);
    for (let at = 0; at + PIECE_LENGTH <= cut.length; at++) {
      if (this.#pieces.has(compared.slice(at, at + PIECE_LENGTH)))
        isHidden.fill(1, at, at + PIECE_LENGTH);
    }
    for (const secret of this.#short) {
      for (let at = compared.indexOf(secret); at >= 0; at = compared.indexOf(secret, at + 1)) {
        isHidden.fill(1, at, at + secret.length);
      }
    }
    let shown = '';
    for (let at = 0; at < cut.length;) {
      const end = endOfRun(isHidden, at);
      shown += isHidden[at] === 1 ? HIDDEN : cut.slice(at, end);
      at = end;
    }
    return shown;
  }
}

function endOfRun(flags: Uint8Array, from: number): number {
  const end = flags.indexOf(flags[from] === 1 ? 0 : 1, from);
  return end < 0 ? flags.length : end;
}

/** Lower-cases ASCII letters only: the length stays. */
function lower(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function* secretsIn({ url, headers, body }: SentSecrets): Generator<string> {
  yield* secretsInUrl(url);
  yield* secretsInHeaders(headers);
  yield* secretsInBody(body);
}

function* secretsInUrl(url: URL): Generator<string> {
  const user = unescaped(url.username);
  const password = unescaped(url.password);
  yield* [user, password];
  if (password !== '') yield `${user}:${password}`;
  for (const pair of url.search.slice(1).split('&')) {
    const { name, value } = pairOf(pair);
    if (canBeCredential(decoded(name ?? ''), decoded(value))) yield decoded(value);
  }
}

function* secretsInHeaders(headers: Texts): Generator<string> {
  for (const [name, value] of Object.entries(headers)) {
    if (!canBeCredential(name, value)) continue;
    const scheme = SCHEME.exec(value)?.[0] ?? '';
    const credential = value.slice(scheme.length);
    yield credential;
    // Members of one value, as in cookies.
    for (const part of credential.split(/[\s;,]+/)) {
      const { name: member, value: text } = pairOf(part);
      if (canBeCredential(member ?? '', text)) yield text;
    }
    if (/^basic/i.test(scheme)) yield* userAndPassword(credential);
  }
}

/** Secrets in settings and in templates of requests. */
function* secretsInBody(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== 'string') {
      if (name === 'headers') yield* secretsInHeaders((member ?? {}) as Texts);
      else yield* secretsInBody(member);
    } else if (isSecretMember(name, member)) yield member;
    else if (name === 'url' && URL.canParse(member)) yield* secretsInUrl(new URL(member));
  }
}

function userAndPassword(base64: string): string[] {
  const pair = Buffer.from(base64, 'base64').toString();
  const at = pair.indexOf(':');
  return at < 0 ? [pair] : [pair, pair.slice(0, at), pair.slice(at + 1)];
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  const url = encodeURIComponent(bytes.toString());
  return [
    secret,
    json,
    json.replaceAll('/', '\\/'),
    json.replace(/[^\x20-\x7e]/g, escapedUnit),
    url,
    url.replaceAll('%20', '+'),
    encodeURIComponent(url),
    htmlEscaped(secret),
    bytes.toString('hex'),
    ...[0, 1, 2].flatMap((shift) => base64Forms(bytes, shift)),
  ];
}

function escapedUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function htmlEscaped(text: string): string {
  const escapes: Texts = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => escapes[character]!);
}

/**
 * The secret inside the base64 form of a longer text, with `shift` bytes in front of it: without
 * characters that also depend on neighbours.
 */
function base64Forms(bytes: Buffer, shift: number): string[] {
  if (bytes.length < SECRET_LENGTH_MIN) return [];
  const all = Buffer.concat([Buffer.alloc(shift), bytes]);
  const begin = shift === 0 ? 0 : shift + 1;
  const end = Math.floor((all.length * 8) / 6);
  return (['base64', 'base64url'] as const).map((form) => all.toString(form).slice(begin, end));
}
