/** 0 for the same direction, 2 for the opposite one; of a vector of length 0: 1. */
export function cosineDistance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let product = 0;
  let [squareA, squareB] = [0, 0];
  for (let i = 0; i < a.length; i++) {
    product += a[i]! * b[i]!;
    squareA += a[i]! ** 2;
    squareB += b[i]! ** 2;
  }
  return 1 - product / (Math.sqrt(squareA * squareB) || 1);
}
