import { Problem } from '../parts/problem.tsx';
import { useIndexes } from '../shell/indexes-context.tsx';
import { Import } from './documents/import.tsx';
import { DocumentList } from './documents/list.tsx';

export function DocumentsView({ uid }: { uid: string | null }): JSX.Element {
  const { list, error, current } = useIndexes();
  const shown = uid ?? current;
  const index = list.find((one) => one.uid === shown);
  return (
    <>
      <Problem error={error} />
      <Import key={`import ${uid}`} uid={shown} />
      {index === undefined ? null : <DocumentList key={index.uid} index={index} />}
    </>
  );
}
