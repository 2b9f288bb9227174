/**
 * How likely a result at least as uneven is if wins and losses are equally likely: the two-sided
 * sign test, exact. Ties do not count.
 */
export function signTest(wins: number, losses: number): number {
  const total = wins + losses;
  const fewer = Math.min(wins, losses);
  // Logarithms of binomial coefficients over 2^total: the numbers themselves overflow.
  let log = -total * Math.LN2;
  let tail = 0;
  for (let k = 0; k <= fewer; k++) {
    tail += Math.exp(log);
    log += Math.log((total - k) / (k + 1));
  }
  return Math.min(1, 2 * tail);
}
