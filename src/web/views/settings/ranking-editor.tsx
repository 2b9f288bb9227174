import { OrderedList } from './ordered-list.tsx';

const RULES: Readonly<Record<string, string>> = {
  words: 'more words of the query',
  typo: 'fewer typos',
  proximity: 'words closer together',
  attribute: 'words in more important fields, and near their beginning',
  attributeRank: 'words in more important fields',
  wordPosition: 'words near the beginning of a field',
  sort: 'the order that the search requests',
  exactness: 'words exactly as typed',
};

interface Props {
  value: readonly string[];
  fields: readonly string[];
  onChange(value: readonly string[]): void;
}

export function RankingEditor({ value, fields, onChange }: Props): JSX.Element {
  const offered = [
    ...Object.keys(RULES),
    ...fields.flatMap((field) => [`${field}:asc`, `${field}:desc`]),
  ];
  return (
    <OrderedList
      label="ranking rules"
      items={value}
      nameOf={(rule) => rule}
      make={(text) => text}
      offered={offered}
      onChange={onChange}
    >
      {(rule) => <span class="count">{RULES[rule] ?? 'the value of a field'}</span>}
    </OrderedList>
  );
}
