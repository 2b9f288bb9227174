// The languages that a text may be declared to be in, by ISO 639 code.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gannet::text {

// Named by the three-letter code, which is also the stored form.
enum class Locale : uint8_t {
  kUnknown = 0,
  // clang-format off
  kAfr, kAka, kAmh, kAra, kAze, kBel, kBen, kBul, kCat, kCes, kCmn, kDan, kDeu, kEll, kEng, kEpo,
  kEst, kFin, kFra, kGuj, kHeb, kHin, kHrv, kHun, kHye, kInd, kIta, kJav, kJpn, kKan, kKat, kKhm,
  kKor, kLat, kLav, kLit, kMal, kMar, kMkd, kMya, kNep, kNld, kNob, kOri, kPan, kPes, kPol, kPor,
  kRon, kRus, kSin, kSlk, kSlv, kSna, kSpa, kSrp, kSwe, kTam, kTel, kTgl, kTha, kTuk, kTur, kUkr,
  kUrd, kUzb, kVie, kYid, kZho, kZul,
  // clang-format on
};

// The locale of a two- or three-letter code ("ja", "jpn"), letter case as listed; nullopt for any
// other text. "zh" is zho, "fa" is pes.
std::optional<Locale> ParseLocale(std::string_view code);

// The three-letter code; empty for kUnknown. Static storage.
std::string_view LocaleCode(Locale locale);

}  // namespace gannet::text
