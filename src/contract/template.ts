/** Whether a text is a template at all; variables are not looked up, an unknown one is a fault of rendering. */
export { templateFault } from '../templates/liquid.ts';
