#include "indexing/parse/fault_finder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"

namespace gannet::indexing {
namespace {

const char* FormatName(PayloadFormat format) {
  switch (format) {
    case PayloadFormat::kJson: return "json";
    case PayloadFormat::kNdjson: return "ndjson";
    case PayloadFormat::kCsv: return "csv";
  }
  return "";
}

// A plain validator for one JSON object, used only to explain why simdjson or the scanner refused
// it.
class FaultFinder {
 public:
  explicit FaultFinder(std::string_view text) : text_(text) {}

  Fault Find() {
    // One bit per open container: true for an object.
    std::vector<bool> open;
    bool value_expected = true;
    do {
      if (value_expected) {
        Space();
        if (Done()) return Fail("the text ends where a value is expected");
        const char c = text_[at_];
        if (c == '{' || c == '[') {
          if (static_cast<int>(open.size()) == kDepthMax) {
            return Fail("more than " + std::to_string(kDepthMax) + " nested objects and arrays");
          }
          open.push_back(c == '{');
          ++at_;
          Space();
          if (!Done() && text_[at_] == (c == '{' ? '}' : ']')) {
            ++at_;
            open.pop_back();
          } else {
            if (c == '{' && !Key()) return *fault_;
            continue;
          }
        } else if (!Scalar()) {
          return *fault_;
        }
        value_expected = false;
      }
      if (open.empty()) break;
      Space();
      if (Done()) return Fail(open.back() ? "an object is not closed" : "an array is not closed");
      const char c = text_[at_];
      if (c == ',') {
        ++at_;
        if (open.back() && !Key()) return *fault_;
        value_expected = true;
      } else if (c == (open.back() ? '}' : ']')) {
        ++at_;
        open.pop_back();
      } else {
        return Fail(std::string("expected `,` or `") + (open.back() ? '}' : ']') + "`, found " +
                    QuotedStart(text_.substr(at_)));
      }
    } while (!open.empty());
    return {0, "the document is not valid JSON"};
  }

 private:
  bool Done() const { return at_ == text_.size(); }
  void Space() {
    while (!Done() && IsSpace(text_[at_])) ++at_;
  }
  Fault Fail(std::string reason) {
    fault_ = Fault{at_, std::move(reason)};
    return *fault_;
  }
  bool No(std::string reason) {
    Fail(std::move(reason));
    return false;
  }

  bool Key() {
    Space();
    if (Done()) return No("an object is not closed");
    if (text_[at_] != '"')
      return No("expected a key in quotation marks, found " + QuotedStart(text_.substr(at_)));
    if (!String()) return false;
    Space();
    if (Done() || text_[at_] != ':') return No("expected `:` after the key");
    ++at_;
    return true;
  }

  bool Scalar() {
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view word : {"true", "false", "null"}) {
      if (rest.starts_with(word)) {
        at_ += word.size();
        return true;
      }
    }
    if (rest[0] == '"') return String();
    if (rest[0] == '-' || IsDigit(rest[0])) return Number();
    return No("expected a value, found " + QuotedStart(rest));
  }

  bool Number() {
    const size_t start = at_;
    at_ += text_[at_] == '-';
    const auto digits = [&] {
      const size_t from = at_;
      while (!Done() && IsDigit(text_[at_])) ++at_;
      return at_ - from;
    };
    const bool zero = !Done() && text_[at_] == '0';
    const size_t whole = digits();
    bool good = whole == 1 || (whole > 1 && !zero);
    if (good && !Done() && text_[at_] == '.') {
      ++at_;
      good = digits() > 0;
    }
    if (good && !Done() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      at_ += !Done() && (text_[at_] == '+' || text_[at_] == '-');
      good = digits() > 0;
    }
    const std::string_view number = text_.substr(start, at_ - start);
    double value = 0;
    if (good && std::from_chars(number.data(), number.data() + number.size(), value).ec ==
                    std::errc::result_out_of_range) {
      // A number that is too small is fine: it reads as zero.
      if (std::fabs(std::strtod(std::string(number).c_str(), nullptr)) > 1) {
        at_ = start;
        return No("the number " + QuotedStart(number) + " is out of range");
      }
    }
    if (!good) {
      at_ = start;
      return No("invalid number " + QuotedStart(text_.substr(start)));
    }
    return true;
  }

  // Value of the four hexadecimal digits at text_[at]; -1 if they are not digits.
  int Hex4(size_t at) const {
    if (at + 4 > text_.size()) return -1;
    int value = 0;
    for (size_t i = at; i < at + 4; ++i) {
      const char c = text_[i];
      const int digit = IsDigit(c)                           ? c - '0'
                        : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                             : -1;
      if (digit < 0) return -1;
      value = value * 16 + digit;
    }
    return value;
  }

  bool String() {
    const size_t start = at_++;
    while (!Done()) {
      const uint8_t c = static_cast<uint8_t>(text_[at_]);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < 0x20) return No("a control character in a string must be escaped");
      if (c == '\\') {
        const char e = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
        if (e == 'u') {
          const int unit = Hex4(at_ + 2);
          if (unit < 0) return No("invalid escape in a string");
          const bool high = unit >= 0xd800 && unit < 0xdc00;
          if (unit >= 0xdc00 && unit < 0xe000) return No("lone surrogate in a string");
          if (high) {
            const bool pair =
                at_ + 7 < text_.size() && text_[at_ + 6] == '\\' && text_[at_ + 7] == 'u';
            const int low = pair ? Hex4(at_ + 8) : -1;
            if (low < 0xdc00 || low >= 0xe000) return No("lone surrogate in a string");
          }
          at_ += high ? 12 : 6;
        } else if (e != '\0' && std::strchr("\"\\/bfnrt", e) != nullptr) {
          at_ += 2;
        } else {
          return No("invalid escape in a string");
        }
      } else if (c < 0x80) {
        ++at_;
      } else {
        const size_t from = at_;
        const char32_t decoded = DecodeUtf8(text_, at_);
        std::string again;
        AppendUtf8(again, decoded);
        const bool surrogate = decoded >= 0xd800 && decoded < 0xe000;
        if (again != text_.substr(from, at_ - from) || surrogate || decoded > 0x10ffff) {
          at_ = from;
          return No("invalid UTF-8");
        }
      }
    }
    at_ = start;
    return No("a string is not closed");
  }

  std::string_view text_;
  size_t at_ = 0;
  std::optional<Fault> fault_;
};

}  // namespace

Status Malformed(PayloadFormat format, std::string_view reason) {
  std::string message = "The ";
  message += FormatName(format);
  message += " payload is malformed: ";
  message += reason;
  message += '.';
  return Status::Invalid(std::move(message), "malformed_payload");
}

Status MalformedAt(PayloadFormat format, std::string_view payload, size_t offset,
                   std::string_view reason) {
  const std::string_view before = payload.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  const size_t column = 1 + CountChars(before.substr(line_start));
  return Malformed(format, std::string(reason) + " at line " + std::to_string(line) + " column " +
                               std::to_string(column));
}

std::string QuotedStart(std::string_view text) {
  size_t end = 0;
  if (!text.empty() && text[0] == '"') {
    for (end = 1; end < text.size() && text[end] != '"'; ++end) end += text[end] == '\\';
    end = std::min(end + 1, text.size());
  } else {
    const auto ends = [](char c) { return IsSpace(c) || c == ',' || c == ']' || c == '}'; };
    while (end < text.size() && !ends(text[end])) ++end;
    end = std::max(end, std::min<size_t>(1, text.size()));
  }
  return '`' + Shortened(text.substr(0, end)) + '`';
}

Fault FindFault(std::string_view text) { return FaultFinder(text).Find(); }

}  // namespace gannet::indexing
