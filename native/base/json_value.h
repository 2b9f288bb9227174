// A small JSON tree, for settings, requests and job descriptions: kilobytes, not documents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gannet::json {

// A filter nests at most 200 deep; requests are parsed recursively.
inline constexpr int kValueDepthMax = 250;

class Value {
 public:
  enum class Kind : uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };

  // Values nested deeper than kValueDepthMax become null.
  // REQUIRES: valid JSON. Malformed text gives an arbitrary tree, never a read outside of it.
  static Value Parse(std::string_view text);

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool boolean(bool otherwise = false) const {
    return kind_ == Kind::kBoolean ? boolean_ : otherwise;
  }
  double number(double otherwise = 0) const { return kind_ == Kind::kNumber ? number_ : otherwise; }
  // Numbers from 2^64 up become UINT64_MAX, which as a double is 2^64.
  uint64_t integer(uint64_t otherwise = 0) const {
    if (kind_ != Kind::kNumber || !(number_ >= 0)) return otherwise;
    return number_ < 0x1p64 ? static_cast<uint64_t>(number_) : UINT64_MAX;
  }
  const std::string& string() const { return string_; }
  const std::vector<Value>& items() const { return items_; }
  const std::vector<std::pair<std::string, Value>>& members() const { return members_; }

  // The member with that name, or null. If the name is repeated, the last member counts.
  const Value& operator[](std::string_view name) const;
  bool Has(std::string_view name) const;
  // Replaces a member, or adds it. REQUIRES: an object
  void Set(std::string_view name, Value member);
  // The strings in an array, without its other items. nullopt: this is not an array.
  std::optional<std::vector<std::string>> Strings() const;
  // The slice of the text this was read from; valid while that text lives.
  std::string_view text() const { return text_; }

 private:
  static Value Parse(std::string_view text, int depth);

  Kind kind_ = Kind::kNull;
  bool boolean_ = false;
  double number_ = 0;
  std::string string_;
  std::vector<Value> items_;
  std::vector<std::pair<std::string, Value>> members_;
  std::string_view text_;
};

}  // namespace gannet::json
