/* Grades of decisions, as signs and in words. */

export const GRADES = {
  best: { sign: "✓", said: "nothing better was found" },
  even: { sign: "≈", said: "may be as good" },
  slip: { sign: "?!", said: "a small loss" },
  mistake: { sign: "?", said: "a mistake" },
  blunder: { sign: "??", said: "a big mistake" },
};
