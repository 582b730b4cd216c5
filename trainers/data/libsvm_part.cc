#include "trainers/data/libsvm_part.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "trainers/data/cell.h"
#include "trainers/data/decimal.h"

namespace winnow {

std::optional<float> FiniteNumber(std::string_view text) {
  float value;
  return ParseCell(text, &value) == CellKind::kNumber ? std::optional<float>(value) : std::nullopt;
}

std::optional<int64_t> LibsvmIndex(std::string_view text) {
  int64_t index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || index < 0 || index > LibsvmPart::kMaxIndex)
    return std::nullopt;
  return index;
}

bool IsLibsvmEntry(std::string_view token) {
  const size_t colon = token.find(':');
  return colon != std::string_view::npos && LibsvmIndex(token.substr(0, colon)).has_value() &&
         FiniteNumber(token.substr(colon + 1)).has_value();
}

LibsvmPart::LibsvmPart(const SourceFile& text, size_t begin, size_t end) : at_(text.bytes.data() + begin) {
  const char* const stop = text.bytes.data() + end;
  while (at_ < stop) {
    SkipBlanks();
    if (!AtRowEnd() && !TakeRow()) return;
    while (*at_ != '\n' && *at_ != '\r' && at_ < stop) ++at_;  // skips a comment
    if (at_ < stop) at_ += at_[0] == '\r' && at_[1] == '\n' ? 2 : 1;
    ++lines_;
  }
}

bool LibsvmPart::Fail(std::string what) {
  error_ = LineError{lines_ + 1, std::move(what)};
  return false;
}

std::string_view LibsvmPart::TakeToken() {
  const char* const begin = at_;
  while (*at_ != ' ' && *at_ != '\t' && !AtRowEnd()) ++at_;
  const std::string_view token(begin, static_cast<size_t>(at_ - begin));
  SkipBlanks();
  return token;
}

bool LibsvmPart::TakeRow() {
  if (label_.empty()) first_line_ = lines_ + 1;
  if (!TakeLabel() || !TakeGroup()) return false;
  while (!AtRowEnd()) {
    if (!TakeQuickEntries() && !TakeEntry()) return false;
  }
  if (!CheckIndices()) return false;
  row_ends_.push_back(entries_.size());
  return true;
}

bool LibsvmPart::TakeLabel() {
  const std::string_view token = TakeToken();
  const size_t colon = token.find(':');
  const bool weighted = colon != std::string_view::npos;
  const std::string_view label_text = token.substr(0, colon);
  const std::optional<float> label = FiniteNumber(label_text);
  if (!label)
    return Fail(fmt::format("label \"{}\"; expected a number first on the line", Excerpt(label_text)));
  if (weighted) {
    const std::optional<float> weight = FiniteNumber(token.substr(colon + 1));
    if (!weight || *weight < 0) {
      return Fail(
          fmt::format("weight in \"{}\"; expected label:weight with a weight of 0 or more", Excerpt(token)));
    }
    weight_.push_back(*weight);
  }
  label_.push_back(*label);
  if (!weight_.empty() && weight_.size() != label_.size()) {
    return Fail(
        fmt::format("a row {} weight after rows {} one; expected label:weight in every row or in none",
                    weighted ? "with a" : "without a", weighted ? "without" : "with"));
  }
  return true;
}

bool LibsvmPart::TakeGroup() {
  const bool grouped = std::strncmp(at_, "qid:", 4) == 0;
  if (label_.size() > 1 && grouped == groups_.empty()) {
    return Fail(fmt::format("a row {} a qid after rows {} one; expected label qid:ID in every row or in none",
                            grouped ? "with" : "without", grouped ? "without" : "with"));
  }
  if (!grouped) return true;
  const std::string_view id = TakeToken().substr(4);
  if (id.empty() || id.find_first_not_of("0123456789") != std::string_view::npos)
    return Fail(fmt::format("\"qid:{}\"; expected qid: and a whole number of 0 or more", Excerpt(id)));
  if (groups_.empty() || groups_.back().id != id)
    groups_.push_back({std::string(id), static_cast<int64_t>(label_.size()) - 1, lines_ + 1});
  return true;
}

void LibsvmPart::Add(int64_t index, float value) {
  smallest_ = std::min(smallest_, index);
  largest_ = std::max(largest_, index);
  entries_.push_back({static_cast<int32_t>(index), value});
}

// Takes entries of the usual form; returns whether there was one.
bool LibsvmPart::TakeQuickEntries() {
  constexpr int kSafeDigits = 9;  // digits of an index that cannot be too large
  const char* const begin = at_;
  for (;;) {
    uint64_t index = 0;
    const char* const colon = decimal_internal::TakeDigits(at_, &index);
    if (colon == at_ || colon - at_ > kSafeDigits || *colon != ':') break;
    float value;
    const char* const end = ScanDecimal(colon + 1, &value);
    if (end == nullptr || (*end != ' ' && *end != '\t' && *end != '\n' && *end != '\r' && *end != '\0'))
      break;
    Add(static_cast<int64_t>(index), value);
    at_ = end;
    SkipBlanks();
  }
  return at_ != begin;
}

bool LibsvmPart::TakeEntry() {
  const std::string_view token = TakeToken();
  const size_t colon = token.find(':');
  const std::string_view index_text = token.substr(0, colon);
  if (index_text == "qid") {
    return Fail(
        fmt::format("\"{}\" after other entries; expected it once, behind the label", Excerpt(token)));
  }
  const std::optional<int64_t> index = LibsvmIndex(index_text);
  if (!index || colon == std::string_view::npos) {
    return Fail(fmt::format("\"{}\"; expected index:value with a whole index of 0 or more", Excerpt(token)));
  }
  const std::string_view value_text = token.substr(colon + 1);
  float value;
  const CellKind kind = ParseCell(value_text, &value);
  if (kind != CellKind::kNumber && (kind != CellKind::kMissing || value_text.empty())) {
    return Fail(fmt::format("column \"f{}\": \"{}\"; expected a finite number", *index, Excerpt(value_text)));
  }
  Add(*index, value);
  return true;
}

// Checks that no index of the row occurs twice.
bool LibsvmPart::CheckIndices() {
  const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(row_ends_.empty() ? 0 : row_ends_.back());
  const auto not_above = [](const Entry& a, const Entry& b) { return a.index >= b.index; };
  if (std::adjacent_find(begin, entries_.end(), not_above) == entries_.end()) return true;
  std::vector<int32_t> sorted;
  for (auto entry = begin; entry != entries_.end(); ++entry) sorted.push_back(entry->index);
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return true;
  return Fail(fmt::format("index {} comes twice; expected each index once in a row", *twice));
}

}  // namespace winnow
