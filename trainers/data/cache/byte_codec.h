#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace winnow {

// Appends numbers in the machine's own byte order, and texts with their length before them.
class ByteWriter {
 public:
  void Number(uint64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void Text(std::string_view text) {
    Number(text.size());
    bytes_.append(text);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads them back. If the bytes end early, returns zeros and empty texts, and ok() is false from then on.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  uint64_t Number() {
    uint64_t number = 0;
    ok_ = ok_ && rest_.size() >= sizeof number;
    if (!ok_) return 0;
    std::memcpy(&number, rest_.data(), sizeof number);
    rest_.remove_prefix(sizeof number);
    return number;
  }
  std::string_view Text() {
    const uint64_t size = Number();
    ok_ = ok_ && size <= rest_.size();
    if (!ok_) return "";
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }
  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace winnow
