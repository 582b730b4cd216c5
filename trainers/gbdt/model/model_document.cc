#include "trainers/gbdt/model/model_document.h"

#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

namespace winnow::gbdt {
namespace {

// Written by hand: nlohmann's parser has no NaN and takes three times as long for a large model.
class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : at_(text.data()), end_(at_ + text.size()), begin_(at_) {}

  Document Parse() {
    Document document = Value(0);
    SkipBlanks();
    if (at_ != end_) Fail("text after the end");
    return document;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    const std::string_view before(begin_, static_cast<std::size_t>(at_ - begin_));
    const std::size_t line_end = before.rfind('\n');  // npos + 1 is 0
    throw MalformedDocument(fmt::format("not JSON, or cut short: line {}, column {}: {}",
                                        std::count(before.begin(), before.end(), '\n') + 1,
                                        before.size() - (line_end + 1) + 1, what));
  }

  void SkipBlanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  // The next character after blanks, '\0' at the end.
  char Peek() {
    SkipBlanks();
    return at_ == end_ ? '\0' : *at_;
  }

  bool Skip(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }

  bool SkipWord(std::string_view word) {
    if (static_cast<std::size_t>(end_ - at_) < word.size() || std::string_view(at_, word.size()) != word)
      return false;
    at_ += word.size();
    return true;
  }

  Document Value(int depth) {
    if (depth > kMostDocumentDepth) Fail("nested too deep");
    Document value;
    switch (Peek()) {
      case '{':
        return ObjectValue(depth);
      case '[':
        return ArrayValue(depth);
      case '"':
        return Document::Text(String());
      case 'n':
        if (SkipWord("null")) return value;
        break;
      default:
        value.kind = Document::Kind::kNumber;
        value.number = Number(&value.type);
        return value;
    }
    Fail("expected a value");
  }

  Document ObjectValue(int depth) {
    Document object = Document::Object();
    Skip('{');
    if (Skip('}')) return object;
    do {
      if (Peek() != '"') Fail("expected a name");
      std::string name = String();
      if (!Skip(':')) Fail("expected a colon");
      object.members.insert_or_assign(std::move(name), Value(depth + 1));
    } while (Skip(','));
    if (!Skip('}')) Fail("expected a comma or the end of the object");
    return object;
  }

  Document ArrayValue(int depth) {
    Document array = Document::Array({});
    Skip('[');
    if (Skip(']')) return array;
    const char first = Peek();
    const bool of_numbers = first != '{' && first != '[' && first != '"' && first != 'n';
    do {
      if (!of_numbers) {
        array.Add(Value(depth + 1));
        continue;
      }
      SkipBlanks();
      Document::NumberType ignored;
      array.numbers.push_back(Number(&ignored));
    } while (Skip(','));
    if (!Skip(']')) Fail("expected a comma or the end of the list");
    return array;
  }

  // Whole numbers as they are, others as the nearest float; true is 1 and false is 0.
  double Number(Document::NumberType* type) {
    *type = Document::NumberType::kFloat;
    if (SkipWord("NaN")) return std::numeric_limits<float>::quiet_NaN();
    if (SkipWord("Infinity")) return std::numeric_limits<float>::infinity();
    if (SkipWord("-Infinity")) return -std::numeric_limits<float>::infinity();
    *type = Document::NumberType::kInt64;
    if (SkipWord("true")) return 1;
    if (SkipWord("false")) return 0;
    const char* stop = at_;
    bool whole = true;
    for (; stop != end_ && (std::isdigit(static_cast<unsigned char>(*stop)) ||
                            std::string_view("+-.eE").find(*stop) != std::string_view::npos);
         ++stop)
      whole = whole && *stop != '.' && *stop != 'e' && *stop != 'E';
    if (stop == at_ || *at_ == '+') Fail("expected a value");
    if (whole) {
      int64_t number = 0;
      const auto [last, error] = std::from_chars(at_, stop, number);
      if (error == std::errc() && last == stop) {
        at_ = stop;
        return static_cast<double>(number);
      }
    }
    *type = Document::NumberType::kFloat;
    float number = 0;
    const auto [last, error] = std::from_chars(at_, stop, number);
    if (error == std::errc::invalid_argument || last != stop) Fail("this is no number");
    if (error == std::errc::result_out_of_range)
      number = std::strtof(std::string(at_, stop).c_str(), nullptr);
    at_ = stop;
    return number;
  }

  uint32_t FourHexDigits() {
    uint32_t code = 0;
    if (end_ - at_ < 4) Fail("cut short");
    const auto [last, error] = std::from_chars(at_, at_ + 4, code, 16);
    if (error != std::errc() || last != at_ + 4) Fail("expected four hexadecimal digits");
    at_ += 4;
    return code;
  }

  void AppendEscaped(std::string* text) {
    if (at_ == end_) Fail("cut short");
    constexpr std::string_view kShort = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const char c = *at_++;
    if (const std::size_t which = kShort.find(c); which != std::string_view::npos) {
      text->push_back(kMeant[which]);
      return;
    }
    if (c != 'u') Fail("expected an escape sequence");
    uint32_t code = FourHexDigits();
    if (code >= 0xd800 && code < 0xdc00 && SkipWord("\\u"))  // the first of a pair of surrogates
      code = 0x10000 + ((code - 0xd800) << 10) + ((FourHexDigits() - 0xdc00) & 0x3ff);
    if (code < 0x80) {
      text->push_back(static_cast<char>(code));
      return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes of UTF-8 after the first
    text->push_back(static_cast<char>((0xf0 << (3 - more) & 0xff) | code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) text->push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3f)));
  }

  std::string String() {
    std::string text;
    for (++at_;;) {
      const char* from = at_;
      while (at_ != end_ && *at_ != '"' && *at_ != '\\') ++at_;
      text.append(from, at_);
      if (at_ == end_) Fail("a text without end");
      if (*at_++ == '"') return text;
      AppendEscaped(&text);
    }
  }

  const char* at_;
  const char* const end_;
  const char* const begin_;
};

void AppendJsonNumber(double number, Document::NumberType type, std::string* text) {
  char buffer[32];
  if (type != Document::NumberType::kFloat) {
    text->append(buffer, std::to_chars(buffer, std::end(buffer), static_cast<int64_t>(number)).ptr);
  } else if (std::isnan(number)) {
    *text += "NaN";
  } else if (std::isinf(number)) {
    *text += number > 0 ? "Infinity" : "-Infinity";
  } else {
    char* const end = std::to_chars(buffer, std::end(buffer), static_cast<float>(number)).ptr;
    text->append(buffer, end);
    const bool marked = std::string_view(buffer, end).find_first_of(".e") != std::string_view::npos;
    if (!marked) *text += ".0";  // XGBoost tells floats from whole numbers by it
  }
}

void AppendText(const std::string& text, std::string* out) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), is_plain)) {
    out->push_back('"');
    *out += text;
    out->push_back('"');
    return;
  }
  *out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void AppendJson(const Document& document, std::string* text) {
  switch (document.kind) {
    case Document::Kind::kNull:
      *text += "null";
      return;
    case Document::Kind::kNumber:
      return AppendJsonNumber(document.number, document.type, text);
    case Document::Kind::kText:
      return AppendText(document.text, text);
    case Document::Kind::kArray: {
      text->push_back('[');
      const char* comma = "";
      for (double number : document.numbers) {
        *text += std::exchange(comma, ",");
        AppendJsonNumber(number, document.type, text);
      }
      for (const std::string& one : document.texts) {
        *text += std::exchange(comma, ",");
        AppendText(one, text);
      }
      for (const Document& item : document.items) {
        *text += std::exchange(comma, ",");
        AppendJson(item, text);
      }
      text->push_back(']');
      return;
    }
    case Document::Kind::kObject: {
      text->push_back('{');
      const char* comma = "";
      for (const auto& [name, value] : document.members) {
        *text += std::exchange(comma, ",");
        AppendText(name, text);
        text->push_back(':');
        AppendJson(value, text);
      }
      text->push_back('}');
      return;
    }
  }
}

// UBJSON, draft 12 (https://ubjson.org): big-endian, one letter before each value that gives its type. Not
// nlohmann's writer, because XGBoost reads only lengths of type L.

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
      if (IsNumber(marker) && array.items.empty() && array.texts.empty())
        array.numbers.push_back(Number(marker));
      else if (array.numbers.empty())
        array.Add(Value(marker, depth + 1));
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
      AppendBigEndian(
          static_cast<uint64_t>(document.numbers.size() + document.texts.size() + document.items.size()),
          text);
      if (document.typed) AppendTyped(document, text);
      for (std::size_t i = 0; i < document.numbers.size() && !document.typed; ++i) {
        text->push_back(Marker(document.type));
        AppendUbjsonNumber(document.numbers[i], document.type, text);
      }
      for (const std::string& one : document.texts) {
        text->push_back('S');
        AppendString(one, text);
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

Document Document::Object() {
  Document document;
  document.kind = Kind::kObject;
  return document;
}

Document&& Document::With(const std::string& name, Document value) && {
  members.insert_or_assign(name, std::move(value));
  return std::move(*this);
}

Document Document::Text(std::string text) {
  Document document;
  document.kind = Kind::kText;
  document.text = std::move(text);
  return document;
}

Document Document::Whole(int64_t number) {
  Document document;
  document.kind = Kind::kNumber;
  document.type = NumberType::kInt64;
  document.number = static_cast<double>(number);
  return document;
}

Document Document::Array(std::vector<Document> items) {
  Document document;
  document.kind = Kind::kArray;
  document.items = std::move(items);
  return document;
}

Document Document::Texts(std::vector<std::string> texts) {
  Document document;
  document.kind = Kind::kArray;
  document.texts = std::move(texts);
  return document;
}

void Document::Add(Document item) {
  if (item.kind == Kind::kText && items.empty()) return texts.push_back(std::move(item.text));
  for (std::string& one : texts) items.push_back(Text(std::move(one)));
  texts.clear();
  items.push_back(std::move(item));
}

const Document* Document::Find(std::string_view name) const {
  const auto found = members.find(name);
  return found == members.end() || found->second.kind == Kind::kNull ? nullptr : &found->second;
}

const Document& Document::At(std::string_view name) const {
  const Document* found = Find(name);
  if (found == nullptr) throw MalformedDocument(fmt::format("there is no \"{}\"", name));
  return *found;
}

const std::string& Document::TextAt(std::string_view name) const {
  const Document& value = At(name);
  if (value.kind != Kind::kText) throw MalformedDocument(fmt::format("{}: expected a text", name));
  return value.text;
}

int64_t Document::WholeAt(std::string_view name) const {
  const Document& value = At(name);
  constexpr double kExact = 9007199254740992;  // 2^53
  if (value.kind == Kind::kNumber && std::floor(value.number) == value.number &&
      std::fabs(value.number) <= kExact)
    return static_cast<int64_t>(value.number);
  if (value.kind == Kind::kText) {
    int64_t whole = 0;
    const char* end = value.text.data() + value.text.size();
    if (const auto [at, error] = std::from_chars(value.text.data(), end, whole);
        error == std::errc() && at == end)
      return whole;
  }
  throw MalformedDocument(fmt::format("{}: expected a whole number", name));
}

const std::vector<Document>& Document::ItemsAt(std::string_view name) const {
  const Document& value = At(name);
  if (value.kind != Kind::kArray || !value.numbers.empty() || !value.texts.empty())
    throw MalformedDocument(fmt::format("{}: expected a list", name));
  return value.items;
}

const std::vector<std::string>& Document::TextsAt(std::string_view name) const {
  const Document& value = At(name);
  if (value.kind != Kind::kArray || !value.numbers.empty() || !value.items.empty())
    throw MalformedDocument(fmt::format("{}: expected a list of texts", name));
  return value.texts;
}

Document ParseJsonDocument(std::string_view text) { return JsonParser(text).Parse(); }

std::string JsonText(const Document& document) {
  std::string text;
  AppendJson(document, &text);
  text.push_back('\n');
  return text;
}

std::string UbjsonText(const Document& document) {
  std::string text;
  AppendUbjson(document, &text);
  return text;
}

Document ParseDocument(std::string_view text) {
  // Both begin with a brace; UBJSON goes on with the type of a length, JSON with a quote or white space.
  const bool ubjson = text.size() > 1 && text[0] == '{' && std::isalpha(static_cast<unsigned char>(text[1]));
  return ubjson ? UbjsonParser(text).Parse() : ParseJsonDocument(text);
}

}  // namespace winnow::gbdt
