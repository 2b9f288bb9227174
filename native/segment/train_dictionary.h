// Chooses the dictionary that the rows of an index are compressed against.
//
// After Liao, Petri, Moffat, Wirth, "Effective Construction of Relative Lempel-Ziv Dictionaries"
// (WWW 2016): the text is cut into as many stretches as the dictionary has space for segments. From
// each stretch the segment is taken whose substrings occur in the most rows, counting no substring
// twice.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gannet::segment {

// LZ4 looks back this far.
inline constexpr size_t kRowDictionaryBytes = 64 << 10;

// Makes a dictionary for rows like these, of at most kRowDictionaryBytes. The most useful content
// is last, where LZ4 can refer to it longest. If the rows have no more bytes than that, they are
// their own dictionary. The result may be shorter, or empty, if little occurs twice.
// rows  one after another
// ends  where each row ends, ascending
// cost  about 25 ns per byte; up to 8 MB of memory
std::string TrainDictionary(std::string_view rows, std::span<const size_t> ends);

}  // namespace gannet::segment
