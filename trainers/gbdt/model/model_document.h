#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace winnow::gbdt {

// Thrown by the functions below for a document that is damaged or of the wrong kind; what() gives the error.
// ParseModel and similar functions convert it to a status, so that it does not leave the model's files.
struct MalformedDocument : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr int kMostDocumentDepth = 64;  // models nest 8 deep; a bound for damaged files

// A JSON or UBJSON document in memory.
struct Document {
  enum class Kind { kNull, kNumber, kText, kArray, kObject };
  enum class NumberType { kFloat, kByte, kInt32, kInt64 };

  Kind kind = Kind::kNull;
  NumberType type = NumberType::kFloat;  // of numbers: their written type
  bool typed = false;                    // whether UBJSON gives one type for all `numbers`
  double number = 0;                     // a truth value is 0 or 1; a float or a whole number below 2^53
  std::string text;
  std::vector<double> numbers;     // of an array of numbers only
  std::vector<std::string> texts;  // of an array of texts only: there may be millions, in names of features
  std::vector<Document> items;     // of every other array
  std::map<std::string, Document, std::less<>> members;

  static Document Object();
  Document&& With(const std::string& name, Document value) &&;  // returns the object with this member added
  static Document Text(std::string text);
  static Document Whole(int64_t number);
  static Document Array(std::vector<Document> items);
  static Document Texts(std::vector<std::string> texts);
  void Add(Document item);  // to an array that is not of numbers
  template <typename T>     // float, uint8_t, int32_t or int64_t
  static Document Numbers(const std::vector<T>& numbers, bool typed = true);

  // Members of an object. For a null or absent one Find returns null, the others throw, with its name.
  const Document* Find(std::string_view name) const;
  const Document& At(std::string_view name) const;
  const std::string& TextAt(std::string_view name) const;
  int64_t WholeAt(std::string_view name) const;  // a number, or a text with one
  const std::vector<std::string>& TextsAt(std::string_view name) const;
  const std::vector<Document>& ItemsAt(std::string_view name) const;
  template <typename T>
  std::vector<T> NumbersAt(std::string_view name) const;
};

// Detects JSON (with XGBoost's NaN and Infinity) or UBJSON (draft 12, of which XGBoost uses a part) by the
// first bytes. Floats are as exact as written.
Document ParseDocument(std::string_view text);
Document ParseJsonDocument(std::string_view text);

// Writes the same bytes for the same document; members are sorted by name. Floats have the fewest digits that
// restore them. In JSON, invalid UTF-8 gets replacement characters.
std::string JsonText(const Document& document);
std::string UbjsonText(const Document& document);

template <typename T>
Document Document::Numbers(const std::vector<T>& numbers, bool typed) {
  Document document;
  document.kind = Kind::kArray;
  document.type = std::is_same_v<T, float>     ? NumberType::kFloat
                  : std::is_same_v<T, uint8_t> ? NumberType::kByte
                  : std::is_same_v<T, int32_t> ? NumberType::kInt32
                                               : NumberType::kInt64;
  document.typed = typed;
  document.numbers.assign(numbers.begin(), numbers.end());
  return document;
}

template <typename T>
std::vector<T> Document::NumbersAt(std::string_view name) const {
  const Document& array = At(name);
  if (array.kind != Kind::kArray || !array.items.empty() || !array.texts.empty())
    throw MalformedDocument(std::string(name) + ": expected a list of numbers");
  std::vector<T> result;
  result.reserve(array.numbers.size());
  for (double value : array.numbers) {
    if constexpr (std::is_integral_v<T>) {
      constexpr double kExact = 9007199254740992;  // 2^53
      const bool fits = value >= static_cast<double>(std::numeric_limits<T>::min()) &&
                        value <= std::min(kExact, static_cast<double>(std::numeric_limits<T>::max())) &&
                        std::floor(value) == value;
      if (!fits) throw MalformedDocument(std::string(name) + ": expected whole numbers");
    }
    result.push_back(static_cast<T>(value));
  }
  return result;
}

}  // namespace winnow::gbdt
