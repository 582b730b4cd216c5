#pragma once

#include <string>
#include <string_view>

namespace winnow {

enum class CellKind {
  kMissing,   // empty, or one of NA, N/A, NaN, null, ? in any case
  kNumber,    // a finite decimal number that a float can hold
  kInfinite,  // inf, infinity, or a number beyond the range of float
  kText,
};

// `text` without blanks and tabs at its ends.
std::string_view TrimBlanks(std::string_view text);

// Whether `cell` (trimmed by the caller) says that a value is missing.
bool IsMissingCell(std::string_view cell);

// What `cell` (trimmed by the caller) says. *value is set to the nearest float of a kNumber and to NaN
// otherwise.
CellKind ParseCell(std::string_view cell, float* value);

// `text` if it is UTF-8; else its bytes read as Latin-1, so that every text has a name that can be printed.
std::string ToUtf8(std::string_view text);

// `text` for an error message: control characters escaped, at most 60 bytes.
std::string Excerpt(std::string_view text);

}  // namespace winnow
