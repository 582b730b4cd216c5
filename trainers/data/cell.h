#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace winnow {

enum class CellKind {
  kMissing,   // empty, or one of NA, N/A, NaN, null, ? in any case
  kNumber,    // a finite decimal number that a float can hold
  kInfinite,  // inf, infinity, or a number beyond the range of float
  kText,
};

// `text` without blanks and tabs at its ends.
std::string_view TrimBlanks(std::string_view text);

// Whether `cell` (trimmed by the caller) represents a missing value.
bool IsMissingCell(std::string_view cell);

// Classifies `cell` (trimmed by the caller). Sets *value to the nearest float for kNumber and to NaN
// otherwise.
CellKind ParseCell(std::string_view cell, float* value);

// Returns `text` if it is UTF-8; otherwise its bytes as Latin-1, so that every text has a printable name.
std::string ToUtf8(std::string_view text);

// Returns `text` for an error message: control characters escaped, at most 60 bytes.
std::string Excerpt(std::string_view text);

// Returns names for an error message: at most 30, each as an Excerpt.
std::string Listed(const std::vector<std::string>& names);

}  // namespace winnow
