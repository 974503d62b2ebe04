/** The texts of the operator page. Only that page loads them. */
import { enOperator } from './en-operator.ts';
import { inLanguage } from './index.ts';

export const operatorTexts = inLanguage('operator', enOperator);
