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

// What the functions below throw for a document that is damaged or not what is asked for; what() says what is
// wrong. ParseModel and its like turn it into a status: nothing outside the model's files sees it.
struct MalformedDocument : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr int kMostDocumentDepth = 64;  // models nest 8 deep; a bound for damaged files

// A JSON or UBJSON document in memory.
struct Document {
  enum class Kind { kNull, kNumber, kText, kArray, kObject };
  enum class NumberType { kFloat, kByte, kInt32, kInt64 };

  Kind kind = Kind::kNull;
  NumberType type = NumberType::kFloat;  // of numbers: how they are written
  bool typed = false;                    // whether UBJSON says the type of `numbers` once for all of them
  double number = 0;                     // a truth value is 0 or 1; a float or a whole number below 2^53
  std::string text;
  std::vector<double> numbers;  // of an array of numbers only
  std::vector<Document> items;  // of every other array
  std::map<std::string, Document, std::less<>> members;

  static Document Object();
  Document&& With(const std::string& name, Document value) &&;  // the object with this member too
  static Document Text(std::string text);
  static Document Whole(int64_t number);
  static Document Array(std::vector<Document> items);
  template <typename T>  // float, uint8_t, int32_t or int64_t
  static Document Numbers(const std::vector<T>& numbers, bool typed = true);

  // Members of an object. Of a null or absent one: Find gives null, the others throw. The errors name it.
  const Document* Find(std::string_view name) const;
  const Document& At(std::string_view name) const;
  const std::string& TextAt(std::string_view name) const;
  int64_t WholeAt(std::string_view name) const;  // a number, or a text that holds one
  std::vector<std::string> TextsAt(std::string_view name) const;
  const std::vector<Document>& ItemsAt(std::string_view name) const;
  template <typename T>
  std::vector<T> NumbersAt(std::string_view name) const;
};

// By what the text begins with: JSON (with XGBoost's NaN and Infinity) or UBJSON (draft 12, which XGBoost
// uses a part of). Floats are as exact as written.
Document ParseDocument(std::string_view text);
Document ParseJsonDocument(std::string_view text);

// The same bytes for the same document; members in the order of their names. Floats in the fewest digits that
// bring the same float back. In JSON, texts that are not UTF-8 get replacement characters.
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
  if (array.kind != Kind::kArray || !array.items.empty())
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
