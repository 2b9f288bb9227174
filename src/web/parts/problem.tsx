import { Coded } from './coded.tsx';

export function Problem({ error }: { error: Error | null }): JSX.Element | null {
  return error === null ? null : (
    <p class="problem" role="alert">
      <Coded text={error.message} />
    </p>
  );
}
