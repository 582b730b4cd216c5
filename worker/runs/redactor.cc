#include "worker/runs/redactor.h"

#include <algorithm>
#include <utility>

namespace winnow {

Redactor::Redactor(const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    if (value.empty()) continue;
    Pattern pattern{value, std::vector<size_t>(value.size() + 1, 0)};
    for (size_t length = 2, border = 0; length <= value.size(); ++length) {
      while (border > 0 && value[border] != value[length - 1]) border = pattern.border[border];
      if (value[border] == value[length - 1]) ++border;
      pattern.border[length] = border;
    }
    patterns_.push_back(std::move(pattern));
  }
}

void Redactor::Pattern::Take(char byte) {
  if (matched == value.size()) matched = border[matched];
  while (matched > 0 && value[matched] != byte) matched = border[matched];
  if (value[matched] == byte) ++matched;
}

std::string Redactor::Add(std::string_view bytes) {
  if (idle()) return std::string(bytes);
  for (const char byte : bytes) {
    held_ += byte;
    secret_.push_back(false);
    for (Pattern& pattern : patterns_) {
      pattern.Take(byte);
      if (pattern.matched < pattern.value.size()) continue;
      std::fill(secret_.end() - static_cast<std::ptrdiff_t>(pattern.value.size()), secret_.end(), true);
    }
  }
  size_t wanted = 0;  // bytes that the next ones may complete to a secret
  for (const Pattern& pattern : patterns_) {
    const bool whole = pattern.matched == pattern.value.size();
    wanted = std::max(wanted, whole ? pattern.border[pattern.matched] : pattern.matched);
  }
  return Release(held_.size() - wanted);
}

std::string Redactor::End() {
  for (Pattern& pattern : patterns_) pattern.matched = 0;
  return Release(held_.size());
}

std::string Redactor::Release(size_t count) {
  std::string released;
  for (size_t i = 0; i < count; ++i) {
    const bool secret = secret_[i];
    if (secret && !in_secret_) released += kRedacted;
    if (!secret) released += held_[i];
    in_secret_ = secret;
  }
  held_.erase(0, count);
  secret_.erase(secret_.begin(), secret_.begin() + static_cast<std::ptrdiff_t>(count));
  return released;
}

}  // namespace winnow
