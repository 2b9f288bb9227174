/** What the binary of uWebSockets.js contains, and a text in the binary that shows it. */
export const IN_SOCKET_LIBRARY: Readonly<Record<string, string>> = {
  'uWebSockets.js': 'uWS',
  BoringSSL: '/boringssl/crypto/',
  lsquic: 'lsquic_engine_new',
  'ls-qpack': 'lsqpack_enc_init',
  'ls-hpack': 'lshpack_dec_decode',
  xxHash: 'XXH64_update',
  any_invocable: 'ofats',
};

/** Libraries that it takes from Node; a binary that has its own needs its licence as well. */
export const NOT_IN_SOCKET_LIBRARY: Readonly<Record<string, string>> = {
  zlib: 'Jean-loup Gailly',
  libdeflate: 'libdeflate_',
  libuv: 'src/unix/core.c',
  OpenSSL: 'OpenSSL 1.',
};
