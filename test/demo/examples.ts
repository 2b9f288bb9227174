/**
 * The searches that the demonstration shows, with the first titles that each must find. `demo.ts`
 * prints them, `demo.test.ts` checks them.
 */

export const SETTINGS = {
  searchableAttributes: ['title', 'author', 'summary'],
  filterableAttributes: ['author', 'genres', 'language', 'year'],
  sortableAttributes: ['year'],
};

export interface Example {
  shows: string;
  body: Record<string, unknown>;
  first: readonly string[];
}

export const EXAMPLES: readonly Example[] = [
  {
    shows: 'While you type: the last word is a prefix',
    body: { q: 'midnight ch', limit: 1 },
    first: ["Midnight's Children"],
  },
  {
    shows: 'Typing errors and missing accents are forgiven',
    body: { q: 'gabriel garcia marqez', limit: 3 },
    first: [
      'One Hundred Years of Solitude',
      'Chronicle of a Death Foretold',
      'Love in the Time of Cholera',
    ],
  },
  {
    shows: 'Words are found in every searchable field; matches can be marked and texts cropped',
    body: {
      q: 'desert planet worm',
      limit: 1,
      attributesToHighlight: ['summary'],
      attributesToCrop: ['summary'],
      cropLength: 8,
    },
    first: ['Dune'],
  },
  {
    shows: 'Filters, sorting and counts of facet values',
    body: {
      filter: 'genres = "science fiction" AND year 1920 TO 1950',
      sort: ['year:asc'],
      facets: ['language'],
      limit: 3,
    },
    first: ['R.U.R.', 'We', 'Brave New World'],
  },
  {
    shows: 'Phrases in quotes, and words that must not occur',
    body: { q: '"the war" -troy -london', filter: 'year > 1900', limit: 2 },
    first: ['Midaq Alley', 'Cryptonomicon'],
  },
];
