/** Text with code between backticks. */
export function Coded({ text }: { text: string }): JSX.Element {
  return (
    <>
      {text.split('`').map((part, position) => (position % 2 === 1 ? <code>{part}</code> : part))}
    </>
  );
}
