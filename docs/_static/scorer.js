// The order of the site's search: what tells one what to do, or what a word means, is above what reports results.
const WEIGHTS = [
  [/^(start|how_to)\//, 3],
  [/^(players|glossary|environments\/|normal$|speed$|results$|gpu$)/, 2],
  [/\/index$|^(reference|background|index)$/, -2],
  [/^(changelog|tables|benchmark_results(_1)?|command_line)$/, -4],
];
var Scorer = {
  score: ([page, , , , score]) => score + WEIGHTS.reduce((sum, [pages, weight]) => sum + (pages.test(page) ? weight : 0), 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
