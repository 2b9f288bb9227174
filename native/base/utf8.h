// Stepping through UTF-8. Input is trusted to be valid (it was checked on receipt); malformed bytes
// are read as one character each, so that no loop runs past the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gannet {

// Whether bytes from outside are valid UTF-8.
bool IsUtf8(std::string_view bytes);

// Decodes the character at text[at] and moves `at` past it. REQUIRES: at < text.size()
inline char32_t DecodeUtf8(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(at);
  const auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  if (lead < 0x80) {
    ++at;
    return lead;
  }
  if ((lead & 0xe0) == 0xc0 && continues(at + 1)) {
    const char32_t value = (char32_t{lead} & 0x1f) << 6 | (byte(at + 1) & 0x3f);
    at += 2;
    return value;
  }
  if ((lead & 0xf0) == 0xe0 && continues(at + 1) && continues(at + 2)) {
    const char32_t value = (char32_t{lead} & 0x0f) << 12 | (char32_t{byte(at + 1)} & 0x3f) << 6 |
                           (byte(at + 2) & 0x3f);
    at += 3;
    return value;
  }
  if ((lead & 0xf8) == 0xf0 && continues(at + 1) && continues(at + 2) && continues(at + 3)) {
    const char32_t value = (char32_t{lead} & 0x07) << 18 | (char32_t{byte(at + 1)} & 0x3f) << 12 |
                           (char32_t{byte(at + 2)} & 0x3f) << 6 | (byte(at + 3) & 0x3f);
    at += 4;
    return value;
  }
  ++at;
  return 0xfffd;
}

inline void AppendUtf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xc0 | c >> 6));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | c >> 12));
    out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else {
    out.push_back(static_cast<char>(0xf0 | c >> 18));
    out.push_back(static_cast<char>(0x80 | (c >> 12 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  }
}

// The offset where the character that contains the byte at text[at] begins. REQUIRES: at <
// text.size()
inline size_t CharacterBegin(std::string_view text, size_t at) {
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

// Number of characters: bytes that are not continuation bytes.
inline size_t CountChars(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<uint8_t>(c) & 0xc0) != 0x80;
  return count;
}

// `text` for a message: at most its first 50 and its last 85 characters.
inline std::string Shortened(std::string_view text) {
  constexpr size_t kHead = 50, kTail = 85;
  if (CountChars(text) <= kHead + kTail) return std::string(text);
  size_t head = 0;
  for (size_t i = 0; i < kHead; ++i) DecodeUtf8(text, head);
  size_t tail = text.size();
  for (size_t i = 0; i < kTail; ++i) tail = CharacterBegin(text, tail - 1);
  return std::string(text.substr(0, head)) + "..." + std::string(text.substr(tail));
}

}  // namespace gannet
