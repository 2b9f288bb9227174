#include "text/locale.h"

#include <cstddef>
#include <iterator>

namespace gannet::text {
namespace {

struct Codes {
  std::string_view three;
  std::string_view two;  // empty: none
};

// Ordered as the enumerators, beginning with 1.
constexpr Codes kCodes[] = {
    {"afr", "af"}, {"aka", "ak"}, {"amh", "am"}, {"ara", "ar"}, {"aze", "az"}, {"bel", "be"},
    {"ben", "bn"}, {"bul", "bg"}, {"cat", "ca"}, {"ces", "cs"}, {"cmn", ""},   {"dan", "da"},
    {"deu", "de"}, {"ell", "el"}, {"eng", "en"}, {"epo", "eo"}, {"est", "et"}, {"fin", "fi"},
    {"fra", "fr"}, {"guj", "gu"}, {"heb", "he"}, {"hin", "hi"}, {"hrv", "hr"}, {"hun", "hu"},
    {"hye", "hy"}, {"ind", "id"}, {"ita", "it"}, {"jav", "jv"}, {"jpn", "ja"}, {"kan", "kn"},
    {"kat", "ka"}, {"khm", "km"}, {"kor", "ko"}, {"lat", "la"}, {"lav", "lv"}, {"lit", "lt"},
    {"mal", "ml"}, {"mar", "mr"}, {"mkd", "mk"}, {"mya", "my"}, {"nep", "ne"}, {"nld", "nl"},
    {"nob", "nb"}, {"ori", "or"}, {"pan", "pa"}, {"pes", "fa"}, {"pol", "pl"}, {"por", "pt"},
    {"ron", "ro"}, {"rus", "ru"}, {"sin", "si"}, {"slk", "sk"}, {"slv", "sl"}, {"sna", "sn"},
    {"spa", "es"}, {"srp", "sr"}, {"swe", "sv"}, {"tam", "ta"}, {"tel", "te"}, {"tgl", "tl"},
    {"tha", "th"}, {"tuk", "tk"}, {"tur", "tr"}, {"ukr", "uk"}, {"urd", "ur"}, {"uzb", "uz"},
    {"vie", "vi"}, {"yid", "yi"}, {"zho", "zh"}, {"zul", "zu"},
};
static_assert(std::size(kCodes) == static_cast<size_t>(Locale::kZul));

}  // namespace

std::optional<Locale> ParseLocale(std::string_view code) {
  if (code.empty()) return std::nullopt;
  for (size_t i = 0; i < std::size(kCodes); ++i) {
    if (code == kCodes[i].three || code == kCodes[i].two) return static_cast<Locale>(i + 1);
  }
  return std::nullopt;
}

std::string_view LocaleCode(Locale locale) {
  if (locale == Locale::kUnknown) return {};
  return kCodes[static_cast<size_t>(locale) - 1].three;
}

}  // namespace gannet::text
