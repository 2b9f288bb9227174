// Chooses the dictionary that the rows of an index are compressed against.
//
// After Liao, Petri, Moffat, Wirth, "Effective Construction of Relative Lempel-Ziv Dictionaries"
// (WWW 2016): the text is cut into as many stretches as the dictionary has room for segments, and
// of each stretch the segment is taken whose substrings occur in the most rows, counting no
// substring twice.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gannet::segment {

// LZ4 looks back so far.
inline constexpr size_t kRowDictionaryBytes = 64 << 10;

// A dictionary for rows like these, at most kRowDictionaryBytes; what is of most use stands last,
// where LZ4 reaches it longest. Rows of no more bytes than that are their own dictionary. May be
// shorter, or empty, where little occurs twice. rows: behind each other; ends: where each of them
// ends, ascending
// cost  some 25 ns per byte; up to 8 MB of memory
std::string TrainDictionary(std::string_view rows, std::span<const size_t> ends);

}  // namespace gannet::segment
