#include "store/fact_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

namespace winnow {
namespace {

using nlohmann::json;

// JSON has neither NaN nor infinity: these become {"bits": "7ff8…"}.
json ToJson(double value) {
  if (std::isfinite(value)) return value;
  return json{{"bits", fmt::format("{:016x}", std::bit_cast<uint64_t>(value))}};
}

double ToDouble(const json& value) {
  if (!value.is_object()) return value.get<double>();
  return std::bit_cast<double>(uint64_t{std::stoull(value.at("bits").get<std::string>(), nullptr, 16)});
}

// The library would cast any number; for one that is too large that is undefined behaviour.
int64_t ToInteger(const json& value) {
  if (!value.is_number_integer()) throw std::invalid_argument("no integer: " + value.dump());
  return value.get<int64_t>();
}

json ToJson(const Configuration& configuration) {
  json list = json::array();
  for (const Value& value : configuration) {
    if (const auto* real = std::get_if<double>(&value)) {
      list.push_back(ToJson(*real));
    } else if (const auto* integer = std::get_if<int64_t>(&value)) {
      list.push_back(*integer);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      list.push_back(*text);
    } else {
      list.push_back(nullptr);
    }
  }
  return list;
}

// Reads a configuration of plain numbers, nulls and texts without escapes, without building a tree, because
// there may be hundreds of thousands. Absent: it is something else, or not JSON.
std::optional<Configuration> ReadPlain(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  Configuration configuration;
  while (!text.empty()) {
    if (text.front() == '"') {
      const size_t end = text.find('"', 1);
      const std::string_view word = text.substr(1, end == std::string_view::npos ? end : end - 1);
      if (end == std::string_view::npos || word.find('\\') != std::string_view::npos) return std::nullopt;
      configuration.emplace_back(std::string(word));
      text.remove_prefix(end + 1);
    } else {
      const std::string_view word = text.substr(0, text.find(','));
      const char* const end = word.data() + word.size();
      if (word == "null") {
        configuration.emplace_back(Inactive{});
      } else if (word.find_first_not_of("-0123456789") == std::string_view::npos) {
        int64_t integer = 0;
        const auto [at, error] = std::from_chars(word.data(), end, integer);
        if (error != std::errc() || at != end) return std::nullopt;
        configuration.emplace_back(integer);
      } else if (word.find_first_not_of("+-.0123456789eE") == std::string_view::npos) {
        double real = 0;
        const auto [at, error] = std::from_chars(word.data(), end, real);
        if (error != std::errc() || at != end) return std::nullopt;
        configuration.emplace_back(real);
      } else {
        return std::nullopt;
      }
      text.remove_prefix(word.size());
    }
    if (text.empty()) break;
    if (text.size() < 2 || text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
  return configuration;
}

Configuration ToConfiguration(const json& list) {
  Configuration configuration;
  for (const json& value : list) {
    if (value.is_null()) {
      configuration.emplace_back(Inactive{});
    } else if (value.is_string()) {
      configuration.emplace_back(value.get<std::string>());
    } else if (value.is_number_integer()) {
      configuration.emplace_back(value.get<int64_t>());
    } else {
      configuration.emplace_back(ToDouble(value));
    }
  }
  return configuration;
}

// Names of enumerators in their order; an enumeration without names is written as its number.
constexpr std::array<const char*, 0> NamesOf(...) { return {}; }
constexpr std::array<const char*, 5> NamesOf(AttemptOutcome) {
  return {"finished", "failed", "lost", "handed_back", "stopped"};
}
constexpr std::array<const char*, 3> NamesOf(TrialEnd) { return {"completed", "stopped", "failed"}; }
constexpr std::array<const char*, 3> NamesOf(JobEnd) { return {"completed", "stopped", "failed"}; }

template <typename T>
json MemberToJson(const T& member) {
  if constexpr (std::is_enum_v<T>) {
    constexpr auto kNames = NamesOf(T());
    if constexpr (kNames.empty()) {
      return static_cast<int64_t>(member);
    } else {
      return kNames[static_cast<size_t>(member)];
    }
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, Configuration>) {
    return ToJson(member);
  } else {
    return member;
  }
}

// Throws what the JSON library throws.
template <typename T>
void FromJson(const json& value, T& member) {
  if constexpr (std::is_enum_v<T>) {
    constexpr auto kNames = NamesOf(T());
    if constexpr (kNames.empty()) {
      member = static_cast<T>(ToInteger(value));
    } else {
      const auto found = std::find(kNames.begin(), kNames.end(), value.get<std::string>());
      if (found == kNames.end()) throw std::invalid_argument("unknown name " + value.dump());
      member = static_cast<T>(found - kNames.begin());
    }
  } else if constexpr (std::is_same_v<T, double>) {
    member = ToDouble(value);
  } else if constexpr (std::is_same_v<T, Configuration>) {
    member = ToConfiguration(value);
  } else if constexpr (std::is_same_v<T, int64_t>) {
    member = ToInteger(value);
  } else if constexpr (std::is_same_v<T, std::vector<TrialNumber>>) {
    for (const json& trial : value) member.push_back(ToInteger(trial));
  } else {
    member = value.get<T>();
  }
}

bool IsTrial(const FactField& field) { return field.name == std::string_view("trial"); }

template <typename F>
json DetailOf(const F& fact) {
  json detail = json::object();
  ForEachField(fact, [&detail]<typename T>(const FactField& field, const T& member) {
    if (IsTrial(field) || field.kept == Kept::kInKind) return;
    if (field.kept == Kept::kUnlessDefault && member == T()) return;
    detail[field.name] = MemberToJson(member);
  });
  return detail;
}

// REQUIRES a new fact. Throws what the JSON library throws.
template <typename F>
void ReadDetail(const json& detail, TrialNumber trial, F& fact) {
  ForEachField(fact, [&]<typename T>(const FactField& field, T& member) {
    if constexpr (std::is_same_v<T, TrialNumber>) {
      if (IsTrial(field)) {
        member = trial;
        return;
      }
    }
    const bool may_lack = field.kept == Kept::kOrDefault || field.kept == Kept::kUnlessDefault;
    if (field.kept == Kept::kInKind || (may_lack && !detail.contains(field.name))) return;
    FromJson(detail.at(field.name), member);
  });
}

// The one type of fact whose kind says more than the type does.
constexpr const char* kLimitKinds[] = {TimeLimitReached::kKind, "node_time_reached", "cost_reached"};

std::optional<TimeLimit> LimitOf(std::string_view kind) {
  const auto found = std::find(std::begin(kLimitKinds), std::end(kLimitKinds), kind);
  if (found == std::end(kLimitKinds)) return std::nullopt;
  return static_cast<TimeLimit>(found - std::begin(kLimitKinds));
}

// Tries each type of fact in turn. Throws what the JSON library throws.
template <size_t I = 0>
FactBody Decode(const StoredFact& stored, const json& detail) {
  if constexpr (I == std::variant_size_v<FactBody>) {
    const std::optional<TimeLimit> limit = LimitOf(stored.kind);
    if (!limit) throw std::invalid_argument("unknown kind " + stored.kind);
    return TimeLimitReached{*limit};
  } else {
    std::variant_alternative_t<I, FactBody> fact;
    if (stored.kind != fact.kKind) return Decode<I + 1>(stored, detail);
    ReadDetail(detail, stored.trial, fact);
    return fact;
  }
}

}  // namespace

std::string_view FactKind(const Fact& fact) {
  const auto* limit = std::get_if<TimeLimitReached>(&fact.body);
  if (limit != nullptr) return kLimitKinds[static_cast<size_t>(limit->limit)];
  return std::visit([](const auto& body) { return body.kKind; }, fact.body);
}

StoredFact EncodeFact(const Fact& fact) {
  const auto encode = [&fact](const auto& body) -> StoredFact {
    TrialNumber trial = 0;
    if constexpr (requires { body.trial; }) trial = body.trial;
    // Reasons contain a trainer's own words: invalid UTF-8 is replaced.
    return {std::string(FactKind(fact)), trial,
            DetailOf(body).dump(-1, ' ', false, json::error_handler_t::replace)};
  };
  return std::visit(encode, fact.body);
}

absl::StatusOr<Fact> DecodeFact(const StoredFact& stored) {
  try {
    return Fact{0, 0, Decode(stored, json::parse(stored.detail))};
  } catch (const std::exception& error) {
    return absl::DataLossError(fmt::format("a stored fact of kind {} cannot be read: {} in {}", stored.kind,
                                           error.what(), stored.detail));
  }
}

std::string EncodeConfiguration(const Configuration& configuration) {
  return ToJson(configuration).dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::StatusOr<Configuration> DecodeConfiguration(std::string_view text) {
  if (std::optional<Configuration> plain = ReadPlain(text)) return *std::move(plain);
  try {
    return ToConfiguration(json::parse(text));
  } catch (const std::exception& error) {
    return absl::DataLossError(
        fmt::format("a stored configuration cannot be read: {} in {}", error.what(), text));
  }
}

}  // namespace winnow
