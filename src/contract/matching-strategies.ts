/** How the words of a query find documents (docs/guide/relevance.md, questions.md). */
export const MATCHING_STRATEGIES = ['last', 'all', 'frequency', 'natural'] as const;
