interface CheckListProps {
  values: readonly string[];
  chosen: readonly string[];
  onChoose(values: readonly string[]): void;
  /** The label of a value. */
  text(value: string): JSX.Element;
}

/** A list of check boxes: any number of the values can be chosen. */
export function CheckList({ values, chosen, onChoose, text }: CheckListProps): JSX.Element {
  const check = (value: string, on: boolean): void =>
    onChoose(on ? [...chosen, value] : chosen.filter((one) => one !== value));
  return (
    <ul class="checks">
      {values.map((value) => (
        <li key={value}>
          <label>
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={(event) => check(value, event.currentTarget.checked)}
            />
            {text(value)}
          </label>
        </li>
      ))}
    </ul>
  );
}
