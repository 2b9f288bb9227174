import { featureNotEnabled } from '../contract/errors.ts';
import type { Feature } from '../contract/features.ts';
import type { ReadDependencies } from './dependencies.ts';

/**
 * Throws where an experimental feature is off.
 * @param action what was attempted, as the beginning of a sentence
 */
export function needFeature(
  { services }: Pick<ReadDependencies, 'services'>,
  feature: Feature,
  action: string,
): void {
  if (!services.features.get()[feature]) throw featureNotEnabled(action, feature);
}
