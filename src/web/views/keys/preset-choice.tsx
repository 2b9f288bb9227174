import { PRESETS } from '../../key-presets.ts';
import { Icon } from '../../parts/icon.tsx';

/** The name of the choice with the list of all actions. */
export const CUSTOM = 'custom';

interface Props {
  chosen: string;
  onChoose(name: string): void;
}

/** What the key is for. */
export function PresetChoice({ chosen, onChoose }: Props): JSX.Element {
  const options = [
    ...PRESETS,
    {
      name: CUSTOM,
      title: 'Custom',
      about: 'You choose among all actions',
      icon: 'settings' as const,
    },
  ];
  return (
    <fieldset>
      <legend>What is it for?</legend>
      <div class="presets">
        {options.map(({ name, title, about, icon }) => (
          <label key={name} class="card">
            <input
              type="radio"
              name="preset"
              checked={chosen === name}
              onChange={() => onChoose(name)}
            />
            <span>
              <Icon name={icon} /> {title}
              <small>{about}</small>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
