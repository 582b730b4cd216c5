// UBJSON, draft 12 (https://ubjson.org): big-endian, one letter before each value that says its type.
#include <fmt/format.h>

#include <bit>

#include "trainers/gbdt/model/model_document.h"

namespace winnow::gbdt {
namespace {

template <typename Bits>
void PutBigEndian(Bits bits, char* at) {
  for (std::size_t i = sizeof(Bits); i-- > 0; bits = static_cast<Bits>(bits >> 8 * (sizeof(Bits) > 1)))
    at[i] = static_cast<char>(bits & 0xff);
}

template <typename Bits>
void AppendBigEndian(Bits bits, std::string* text) {
  char bytes[sizeof(Bits)];
  PutBigEndian(bits, bytes);
  text->append(bytes, sizeof(Bits));
}

class UbjsonParser {
 public:
  explicit UbjsonParser(std::string_view text) : text_(text) {}

  Document Parse() {
    Document document = Value(Next(), 0);
    if (at_ != text_.size()) Fail("bytes after the end");
    return document;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw MalformedDocument(fmt::format("not UBJSON, or cut short: at byte {}: {}", at_, what));
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  char Next() {
    if (at_ == text_.size()) Fail("cut short");
    return text_[at_++];
  }

  template <typename Bits>
  Bits BigEndian() {
    if (text_.size() - at_ < sizeof(Bits)) Fail("cut short");
    Bits bits = 0;
    for (std::size_t i = 0; i < sizeof(Bits); ++i)
      bits = static_cast<Bits>(static_cast<uint64_t>(bits) << 8 | static_cast<unsigned char>(text_[at_++]));
    return bits;
  }

  static bool IsNumber(char marker) {
    return std::string_view("iUIlLdDTF").find(marker) != std::string_view::npos;
  }

  double Number(char marker) {
    switch (marker) {
      case 'i':
        return static_cast<int8_t>(BigEndian<uint8_t>());
      case 'U':
        return BigEndian<uint8_t>();
      case 'I':
        return static_cast<int16_t>(BigEndian<uint16_t>());
      case 'l':
        return static_cast<int32_t>(BigEndian<uint32_t>());
      case 'L':
        return static_cast<double>(static_cast<int64_t>(BigEndian<uint64_t>()));
      case 'd':
        return std::bit_cast<float>(BigEndian<uint32_t>());
      case 'D':
        return static_cast<float>(std::bit_cast<double>(BigEndian<uint64_t>()));
      case 'T':
        return 1;
      case 'F':
        return 0;
    }
    Fail("expected a number");
  }

  // How many bytes or values follow; each of these takes at least `bytes_each`.
  std::size_t Length(std::size_t bytes_each) {
    const char marker = Next();
    if (std::string_view("iUIlL").find(marker) == std::string_view::npos) Fail("expected a length");
    const double length = Number(marker);
    if (!(length >= 0 && length <= static_cast<double>((text_.size() - at_) / bytes_each)))
      Fail("longer than the file");
    return static_cast<std::size_t>(length);
  }

  std::string String() {
    const std::size_t length = Length(1);
    at_ += length;
    return std::string(text_.substr(at_ - length, length));
  }

  Document Value(char marker, int depth) {
    if (depth > kMostDocumentDepth) Fail("nested too deep");
    if (marker == '{') return ObjectValue(depth);
    if (marker == '[') return ArrayValue(depth);
    if (marker == 'S') return Document::Text(String());
    Document value;
    if (marker == 'Z') return value;
    if (!IsNumber(marker)) Fail("expected a value");
    value.kind = Document::Kind::kNumber;
    value.type = marker == 'd' || marker == 'D' ? Document::NumberType::kFloat : Document::NumberType::kInt64;
    value.number = Number(marker);
    return value;
  }

  Document ObjectValue(int depth) {
    Document object = Document::Object();
    const bool counted = Peek() == '#';
    std::size_t left = 0;
    if (counted) {
      Next();
      left = Length(1);
    }
    while (counted ? left-- > 0 : Peek() != '}') {
      std::string name = String();
      const char marker = Next();
      object.members.insert_or_assign(std::move(name), Value(marker, depth + 1));
    }
    if (!counted) Next();
    return object;
  }

  Document ArrayValue(int depth) {
    Document array = Document::Array({});
    if (Peek() == '$') {
      Next();
      const char marker = Next();
      const bool eight = marker == 'L' || marker == 'D', four = marker == 'l' || marker == 'd';
      const bool one = marker == 'i' || marker == 'U';
      if (!eight && !four && !one && marker != 'I') Fail("expected the type of a list's numbers");
      if (Next() != '#') Fail("expected a length");
      array.numbers.resize(Length(eight ? 8 : four ? 4 : one ? 1 : 2));
      for (double& number : array.numbers) number = Number(marker);
      return array;
    }
    const bool counted = Peek() == '#';
    std::size_t left = 0;
    if (counted) {
      Next();
      left = Length(1);
    }
    while (counted ? left-- > 0 : Peek() != ']') {
      const char marker = Next();
      if (IsNumber(marker) && array.items.empty())
        array.numbers.push_back(Number(marker));
      else if (array.numbers.empty())
        array.items.push_back(Value(marker, depth + 1));
      else
        Fail("a list of numbers and of other things");
    }
    if (!counted) Next();
    return array;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

void AppendString(const std::string& string, std::string* text) {
  text->push_back('L');  // the only length that XGBoost reads
  AppendBigEndian(static_cast<uint64_t>(string.size()), text);
  *text += string;
}

char Marker(Document::NumberType type) {
  constexpr char kMarkers[] = {'d', 'U', 'l', 'L'};
  return kMarkers[static_cast<int>(type)];
}

void AppendUbjsonNumber(double number, Document::NumberType type, std::string* text) {
  switch (type) {
    case Document::NumberType::kFloat:
      return AppendBigEndian(std::bit_cast<uint32_t>(static_cast<float>(number)), text);
    case Document::NumberType::kByte:
      return AppendBigEndian(static_cast<uint8_t>(number), text);
    case Document::NumberType::kInt32:
      return AppendBigEndian(static_cast<uint32_t>(static_cast<int32_t>(number)), text);
    case Document::NumberType::kInt64:
      return AppendBigEndian(static_cast<uint64_t>(static_cast<int64_t>(number)), text);
  }
}

// A list of numbers whose type has been said.
template <typename Bits, typename BitsOf>
void AppendTyped(const std::vector<double>& numbers, BitsOf bits_of, std::string* text) {
  const std::size_t begin = text->size();
  text->resize(begin + numbers.size() * sizeof(Bits));
  char* at = text->data() + begin;
  for (double number : numbers) {
    PutBigEndian<Bits>(bits_of(number), at);
    at += sizeof(Bits);
  }
}

void AppendTyped(const Document& array, std::string* text) {
  const std::vector<double>& numbers = array.numbers;
  switch (array.type) {
    case Document::NumberType::kFloat:
      return AppendTyped<uint32_t>(
          numbers, [](double v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); }, text);
    case Document::NumberType::kByte:
      return AppendTyped<uint8_t>(
          numbers, [](double v) { return static_cast<uint8_t>(v); }, text);
    case Document::NumberType::kInt32:
      return AppendTyped<uint32_t>(
          numbers, [](double v) { return static_cast<uint32_t>(static_cast<int32_t>(v)); }, text);
    case Document::NumberType::kInt64:
      return AppendTyped<uint64_t>(
          numbers, [](double v) { return static_cast<uint64_t>(static_cast<int64_t>(v)); }, text);
  }
}

void AppendUbjson(const Document& document, std::string* text) {
  switch (document.kind) {
    case Document::Kind::kNull:
      text->push_back('Z');
      return;
    case Document::Kind::kNumber:
      text->push_back(Marker(document.type));
      return AppendUbjsonNumber(document.number, document.type, text);
    case Document::Kind::kText:
      text->push_back('S');
      return AppendString(document.text, text);
    case Document::Kind::kArray:
      text->push_back('[');
      if (document.typed) {
        text->push_back('$');
        text->push_back(Marker(document.type));
      }
      text->append("#L");
      AppendBigEndian(static_cast<uint64_t>(document.numbers.size() + document.items.size()), text);
      if (document.typed) AppendTyped(document, text);
      for (std::size_t i = 0; i < document.numbers.size() && !document.typed; ++i) {
        text->push_back(Marker(document.type));
        AppendUbjsonNumber(document.numbers[i], document.type, text);
      }
      for (const Document& item : document.items) AppendUbjson(item, text);
      return;
    case Document::Kind::kObject:
      text->push_back('{');
      for (const auto& [name, value] : document.members) {
        AppendString(name, text);
        AppendUbjson(value, text);
      }
      text->push_back('}');
      return;
  }
}

}  // namespace

Document ParseUbjsonDocument(std::string_view text) { return UbjsonParser(text).Parse(); }

std::string UbjsonText(const Document& document) {
  std::string text;
  AppendUbjson(document, &text);
  return text;
}

}  // namespace winnow::gbdt
