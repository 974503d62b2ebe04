/** The texts of the leaderboard. Only its pages load them. */
import { enBoard } from './en-board.ts';
import { inLanguage } from './index.ts';

export const boardTexts = inLanguage('board', enBoard);
