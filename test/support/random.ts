export { mulberry } from '../../src/relevance/random.ts';
