/** Two-letter codes (ISO 639-1) with the three-letter codes (ISO 639-3) stored for them. */
export const TWO_LETTER_LOCALES: Readonly<Record<string, string>> = {
  af: 'afr',
  ak: 'aka',
  am: 'amh',
  ar: 'ara',
  az: 'aze',
  be: 'bel',
  bn: 'ben',
  bg: 'bul',
  ca: 'cat',
  cs: 'ces',
  da: 'dan',
  de: 'deu',
  el: 'ell',
  en: 'eng',
  eo: 'epo',
  et: 'est',
  fa: 'pes',
  fi: 'fin',
  fr: 'fra',
  gu: 'guj',
  he: 'heb',
  hi: 'hin',
  hr: 'hrv',
  hu: 'hun',
  hy: 'hye',
  id: 'ind',
  it: 'ita',
  ja: 'jpn',
  jv: 'jav',
  ka: 'kat',
  km: 'khm',
  kn: 'kan',
  ko: 'kor',
  la: 'lat',
  lt: 'lit',
  lv: 'lav',
  mk: 'mkd',
  ml: 'mal',
  mr: 'mar',
  my: 'mya',
  nb: 'nob',
  ne: 'nep',
  nl: 'nld',
  or: 'ori',
  pa: 'pan',
  pl: 'pol',
  pt: 'por',
  ro: 'ron',
  ru: 'rus',
  si: 'sin',
  sk: 'slk',
  sl: 'slv',
  sn: 'sna',
  es: 'spa',
  sr: 'srp',
  sv: 'swe',
  ta: 'tam',
  te: 'tel',
  th: 'tha',
  tk: 'tuk',
  tl: 'tgl',
  tr: 'tur',
  uk: 'ukr',
  ur: 'urd',
  uz: 'uzb',
  vi: 'vie',
  yi: 'yid',
  zh: 'zho',
  zu: 'zul',
};

const THREE_LETTER_LOCALES = (
  'afr aka amh ara aze bel ben bul cat ces cmn dan deu ell eng epo est fin fra guj heb hin hrv hun ' +
  'hye ind ita jav jpn kan kat khm kor lat lav lit mal mar mkd mya nep nld nob ori pan pes pol por ' +
  'ron rus sin slk slv sna spa srp swe tam tel tgl tha tuk tur ukr urd uzb vie yid zho zul'
).split(' ');

/** Every accepted locale. Codes are case-sensitive. */
export const LOCALES: readonly string[] = [
  ...THREE_LETTER_LOCALES,
  ...Object.keys(TWO_LETTER_LOCALES),
];

/** The three-letter form. */
export function canonicalLocale(locale: string): string {
  return TWO_LETTER_LOCALES[locale] ?? locale;
}
