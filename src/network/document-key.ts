/** FNV-1a of 64 bits over the bytes of a text, as hexadecimal digits: `documentKey` and `distinctKeys` between servers. */
export function keyOfText(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}
