#include "base/moment.h"

#include <chrono>
#include <cstdint>

namespace gannet {
namespace {

constexpr int kSecondsOfDay = 86'400;
constexpr size_t kCountDigitsMax = 9;

// Reads a text from its beginning, a piece at a time.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }

  // Any of the characters.
  bool Take(std::string_view any) {
    if (rest_.empty() || any.find(rest_[0]) == any.npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // A number of exactly this many digits, from `min` to `max`; -1: something else comes next.
  int Number(size_t digits, int min, int max) {
    if (rest_.size() < digits) return -1;
    int value = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (!IsDigit(rest_[i])) return -1;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return value < min || value > max ? -1 : value;
  }

  // At least one digit of a fraction of a second, as microseconds; the rest is dropped.
  int Fraction() {
    if (rest_.empty() || !IsDigit(rest_[0])) return -1;
    int value = 0, unit = 100'000;
    for (; !rest_.empty() && IsDigit(rest_[0]); rest_.remove_prefix(1)) {
      value += (rest_[0] - '0') * unit;
      unit /= 10;
    }
    return value;
  }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  std::string_view rest_;
};

int DaysOfMonth(int year, int month) {
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[month - 1];
}

// Days from 1970-01-01 to this day.
int64_t DaysSince1970(int year, int month, int day) {
  static constexpr int kBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  // The leap days before the month, since year 0.
  const int64_t last = month > 2 ? year : year - 1;
  const int64_t leaps = last < 0 ? 0 : last / 4 - last / 100 + last / 400 + 1;
  return int64_t{365} * year + leaps + kBefore[month - 1] + day - 1 - 719'528;
}

// The offset of a time zone in seconds: `Z` or +hh:mm.
std::optional<int> ZoneOf(DateReader& reader) {
  if (reader.Take("Zz")) return 0;
  const bool east = reader.Take("+");
  if (!east && !reader.Take("-")) return std::nullopt;
  const int hours = reader.Number(2, 0, 23);
  if (hours < 0 || !reader.Take(":")) return std::nullopt;
  const int minutes = reader.Number(2, 0, 59);
  if (minutes < 0) return std::nullopt;
  const int offset = hours * 3600 + minutes * 60;
  return east ? offset : -offset;
}

}  // namespace

double UnixSeconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(since).count()) /
         1e6;
}

std::optional<double> ParseDate(std::string_view text) {
  DateReader reader(text);
  const int year = reader.Number(4, 0, 9999);
  if (year < 0 || !reader.Take("-")) return std::nullopt;
  const int month = reader.Number(2, 1, 12);
  if (month < 0 || !reader.Take("-")) return std::nullopt;
  const int day = reader.Number(2, 1, DaysOfMonth(year, month));
  if (day < 0) return std::nullopt;
  int64_t seconds = DaysSince1970(year, month, day) * kSecondsOfDay;
  if (reader.done()) return static_cast<double>(seconds);
  if (!reader.Take("Tt ")) return std::nullopt;
  const int hour = reader.Number(2, 0, 23);
  if (hour < 0 || !reader.Take(":")) return std::nullopt;
  const int minute = reader.Number(2, 0, 59);
  if (minute < 0 || !reader.Take(":")) return std::nullopt;
  // 60 is a leap second.
  const int second = reader.Number(2, 0, 60);
  if (second < 0) return std::nullopt;
  const int microseconds = reader.Take(".") ? reader.Fraction() : 0;
  if (microseconds < 0) return std::nullopt;
  const auto zone = ZoneOf(reader);
  if (!zone || !reader.done()) return std::nullopt;
  seconds += hour * 3600 + minute * 60 + second - *zone;
  return static_cast<double>(seconds * 1'000'000 + microseconds) / 1e6;
}

std::optional<double> ParseRelativeDate(std::string_view text, double now) {
  if (!text.starts_with("now")) return std::nullopt;
  text.remove_prefix(3);
  if (text.empty()) return now;
  if (text.size() < 3 || text.size() > kCountDigitsMax + 2) return std::nullopt;
  if (text[0] != '+' && text[0] != '-') return std::nullopt;
  int64_t unit;
  switch (text.back()) {
    case 's': unit = 1; break;
    case 'm': unit = 60; break;
    case 'h': unit = 3600; break;
    case 'd': unit = kSecondsOfDay; break;
    case 'w': unit = 7 * kSecondsOfDay; break;
    default: return std::nullopt;
  }
  int64_t count = 0;
  for (const char digit : text.substr(1, text.size() - 2)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    count = count * 10 + (digit - '0');
  }
  return now + static_cast<double>(text[0] == '-' ? -count * unit : count * unit);
}

}  // namespace gannet
