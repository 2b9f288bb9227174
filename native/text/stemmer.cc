#include "text/stemmer.h"

#include <algorithm>
#include <new>

#include <libstemmer.h>

namespace gannet::text {
namespace {

// The name of the algorithm; null: there is none.
const char* AlgorithmOf(Locale language) {
  switch (language) {
    case Locale::kAra: return "arabic";
    case Locale::kCat: return "catalan";
    case Locale::kDan: return "danish";
    case Locale::kDeu: return "german";
    case Locale::kEll: return "greek";
    case Locale::kEng: return "english";
    case Locale::kFin: return "finnish";
    case Locale::kFra: return "french";
    case Locale::kHin: return "hindi";
    case Locale::kHun: return "hungarian";
    case Locale::kHye: return "armenian";
    case Locale::kInd: return "indonesian";
    case Locale::kIta: return "italian";
    case Locale::kLit: return "lithuanian";
    case Locale::kNep: return "nepali";
    case Locale::kNld: return "dutch";
    case Locale::kNob: return "norwegian";
    case Locale::kPor: return "portuguese";
    case Locale::kRon: return "romanian";
    case Locale::kRus: return "russian";
    case Locale::kSpa: return "spanish";
    case Locale::kSrp: return "serbian";
    case Locale::kSwe: return "swedish";
    case Locale::kTam: return "tamil";
    case Locale::kTur: return "turkish";
    case Locale::kYid: return "yiddish";
    default: return nullptr;
  }
}

}  // namespace

bool Stemmer::Knows(Locale language) { return AlgorithmOf(language) != nullptr; }

Stemmer::Stemmer(Locale language) : stemmer_(sb_stemmer_new(AlgorithmOf(language), nullptr)) {
  if (stemmer_ == nullptr) throw std::bad_alloc();
}

Stemmer::~Stemmer() { sb_stemmer_delete(stemmer_); }

std::string_view Stemmer::Stem(std::string_view word) {
  if (word.size() < 3 ||
      std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return word;
  const sb_symbol* stem = sb_stemmer_stem(stemmer_, reinterpret_cast<const sb_symbol*>(word.data()),
                                          static_cast<int>(word.size()));
  if (stem == nullptr) throw std::bad_alloc();
  const auto size = static_cast<size_t>(sb_stemmer_length(stemmer_));
  return size == 0 ? word : std::string_view(reinterpret_cast<const char*>(stem), size);
}

bool HasCompounds(Locale language) {
  return language == Locale::kDeu || language == Locale::kNld || language == Locale::kDan ||
         language == Locale::kNob || language == Locale::kSwe;
}

}  // namespace gannet::text
