// The form under which variants of an ideograph are compared: simplified, regional and reformed
// variants become the traditional form (docs/behaviour/tokenisation.md, step 4). The pairs come
// from the dictionaries of OpenCC and are written at build time by native/tools/gen-ideographs.mjs.
// A variant of several characters (台 for 臺, 檯, 颱) becomes the most usual of them, in documents
// and queries alike.
//
// Threads: a constant table; safe everywhere.
#pragma once

namespace gannet::text {

// The form of `c`, or `c` itself. The form of a form is itself.
// cost  two comparisons and a load for the usual ideographs, 12 comparisons for the others of the
//       table's range
char32_t IdeographForm(char32_t c);

}  // namespace gannet::text
