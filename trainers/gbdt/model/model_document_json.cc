#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "trainers/gbdt/model/model_document.h"

namespace winnow::gbdt {
namespace {

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
    throw MalformedDocument(fmt::format("not JSON, or cut short: at byte {}: {}", at_ - begin_, what));
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
        array.items.push_back(Value(depth + 1));
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

}  // namespace

Document ParseJsonDocument(std::string_view text) { return JsonParser(text).Parse(); }

std::string JsonText(const Document& document) {
  std::string text;
  AppendJson(document, &text);
  text.push_back('\n');
  return text;
}

}  // namespace winnow::gbdt
