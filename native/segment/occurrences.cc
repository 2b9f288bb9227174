#include "segment/occurrences.h"

#include <algorithm>
#include <bit>

#include "base/stop_point.h"
#include "segment/text.h"

namespace gannet::segment {
namespace {

constexpr uint32_t kExactMax = 127;  // lengths up to this are codes
constexpr int kExactBits = 7, kStepBits = 4;
// A block has the codes of a field if this many of its documents have the field.
constexpr uint32_t kCodesMin = Occurrences::kBlockDocuments / 16;

}  // namespace

uint8_t Occurrences::CodeOf(uint32_t words) {
  if (words <= kExactMax) return static_cast<uint8_t>(words);
  const int bits = std::bit_width(words) - 1;  // words is 2^bits and more
  const uint32_t step = words >> (bits - kStepBits) & ((1u << kStepBits) - 1);
  const uint32_t code = kExactMax + 1 + (static_cast<uint32_t>(bits - kExactBits) << kStepBits);
  return static_cast<uint8_t>(std::min<uint32_t>(code + step, kLengthCodes - 1));
}

uint32_t Occurrences::LengthOf(uint8_t code) {
  if (code <= kExactMax) return code;
  const uint32_t above = code - (kExactMax + 1);
  const uint32_t step = above & ((1u << kStepBits) - 1);
  return ((1u << kStepBits) + step) << ((above >> kStepBits) + kExactBits - kStepBits);
}

Occurrences::Occurrences(const TextReader& text) {
  struct Seen {
    uint32_t run = 0;  // number of the field of a document that the word was last in
    uint32_t count = 0;
  };
  std::vector<Seen> seen(text.terms().size());
  std::map<std::pair<FieldId, Tier>, std::vector<Entry>> entries;
  std::map<FieldId, std::vector<std::pair<uint16_t, uint8_t>>> lengths;  // of one block
  uint32_t key = 0, run = 0;
  const auto end_block = [&] {
    for (auto& [field, of_field] : lengths) {
      if (of_field.size() >= kCodesMin) {
        auto codes = std::make_unique<Codes>();
        for (const auto& [low, code] : of_field) (*codes)[low] = code;
        codes_.emplace(std::pair(field, key), std::move(codes));
      }
      of_field.clear();
    }
  };
  std::vector<Ordinal> repeated;
  FieldId current = 0;
  DocId docid = 0;
  const auto end_field = [&] {
    for (const Ordinal word : repeated) {
      const uint32_t count = seen[word].count;
      entries[{current, count > kFewMax ? Tier::kMany : Tier::kFew}].push_back(
          {word, docid, static_cast<uint8_t>(std::min<uint32_t>(count, kCountMax))});
    }
    repeated.clear();
  };
  StopCounter steps;
  text.ForEachRecord(text.local_docids().Documents(), [&](DocId next, std::string_view record) {
    if (next / kBlockDocuments != key) end_block();
    key = next / kBlockDocuments;
    docid = next;
    text.ForEachRun(
        record,
        [&](FieldId field, uint32_t words) {
          end_field();
          current = field;
          if (++run == 0) {
            std::fill(seen.begin(), seen.end(), Seen());
            run = 1;
          }
          lengths[field].emplace_back(static_cast<uint16_t>(docid), CodeOf(words));
        },
        [&](FieldId, uint32_t, const PackedOrdinals& words) {
          steps.Step(words.count);
          for (uint32_t i = 0; i < words.count; ++i) {
            const Ordinal word = words.at(i);
            if (word >= seen.size()) continue;
            Seen& of_word = seen[word];
            if (of_word.run != run) {
              of_word = {run, 1};
            } else if (++of_word.count == 2) {
              repeated.push_back(word);
            }
          }
        });
    end_field();
  });
  end_block();
  for (auto& [which, of_table] : entries) {
    tables_.emplace(which, Sort(of_table, text.terms().size()));
    of_table = {};
  }
}

Occurrences::Table Occurrences::Sort(const std::vector<Entry>& entries, size_t words) {
  std::vector<uint32_t> at(words + 1);  // where the next entry of a word goes
  StopCounter steps;
  for (const Entry& entry : entries) {
    steps.Step();
    ++at[entry.word + 1];
  }
  Table table;
  for (size_t word = 0; word < words; ++word) {
    steps.Step();
    if (at[word + 1] > 0) {
      table.words.push_back(static_cast<Ordinal>(word));
      table.begins.push_back(at[word]);
    }
    at[word + 1] += at[word];
  }
  table.words.shrink_to_fit();
  table.begins.push_back(static_cast<uint32_t>(entries.size()));
  table.begins.shrink_to_fit();
  table.docids.resize(entries.size());
  table.counts.resize(entries.size());
  for (const Entry& entry : entries) {
    steps.Step();
    table.docids[at[entry.word]] = entry.docid;
    table.counts[at[entry.word]++] = entry.count;
  }
  return table;
}

const uint8_t* Occurrences::LengthCodes(FieldId field, uint32_t key) const {
  const auto found = codes_.find({field, key});
  return found == codes_.end() ? nullptr : found->second->data();
}

Occurrences::Repeats Occurrences::RepeatsOf(Ordinal word, FieldId field, Tier tier) const {
  const auto found = tables_.find({field, tier});
  if (found == tables_.end()) return {};
  const Table& table = found->second;
  const auto at = std::lower_bound(table.words.begin(), table.words.end(), word);
  if (at == table.words.end() || *at != word) return {};
  const auto i = static_cast<size_t>(at - table.words.begin());
  const uint32_t begin = table.begins[i], count = table.begins[i + 1] - begin;
  return {std::span(table.docids).subspan(begin, count),
          std::span(table.counts).subspan(begin, count)};
}

uint64_t Occurrences::bytes() const {
  uint64_t bytes = codes_.size() * sizeof(Codes);
  for (const auto& [which, table] : tables_) {
    bytes += (table.words.size() + table.begins.size()) * sizeof(uint32_t) +
             table.docids.size() * (sizeof(DocId) + 1);
  }
  return bytes;
}

}  // namespace gannet::segment
