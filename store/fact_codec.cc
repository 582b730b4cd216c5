#include "store/fact_codec.h"

#include <fmt/format.h>

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

std::vector<TrialNumber> ToTrials(const json& list) {
  std::vector<TrialNumber> trials;
  for (const json& trial : list) trials.push_back(ToInteger(trial));
  return trials;
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

// In the order of the enumerators.
constexpr const char* kOutcomes[] = {"finished", "failed", "lost", "handed_back", "stopped"};
constexpr const char* kEnds[] = {"completed", "stopped", "failed"};

template <typename Enum, size_t N>
Enum FromName(const char* const (&names)[N], const json& name) {
  for (size_t i = 0; i < N; ++i) {
    if (name.get<std::string>() == names[i]) return static_cast<Enum>(i);
  }
  throw std::invalid_argument("unknown name " + name.dump());
}

struct Encoder {
  StoredFact operator()(const Reported& f) const {
    return Of("reported", f.trial,
              {{"attempt", f.attempt}, {"resource", f.resource}, {"objective", ToJson(f.objective)}});
  }
  StoredFact operator()(const AttemptStarted& f) const {
    return Of("attempt_started", f.trial, {{"attempt", f.attempt}, {"from", f.from}, {"to", f.to}});
  }
  StoredFact operator()(const AttemptEnded& f) const {
    return Of("attempt_ended", f.trial,
              {{"attempt", f.attempt},
               {"outcome", kOutcomes[static_cast<int>(f.outcome)]},
               {"reason", f.reason},
               {"started_us", f.started_us},
               {"ended_us", f.ended_us}});
  }
  StoredFact operator()(const CheckpointLost& f) const {
    return Of("checkpoint_lost", f.trial, json::object());
  }
  StoredFact operator()(const StopRequested& f) const {
    return Of("stop_requested", 0, {{"reason", f.reason}});
  }
  StoredFact operator()(const TimeLimitReached& f) const {
    return Of(f.limit == TimeLimit::kWall ? "wall_time_reached" : "node_time_reached", 0, json::object());
  }
  StoredFact operator()(const PriorObserved& f) const {
    return Of("prior_observed", 0,
              {{"configuration", ToJson(f.configuration)},
               {"objective", ToJson(f.objective)},
               {"resource", f.resource},
               {"source", f.source}});
  }
  StoredFact operator()(const Noticed& f) const {
    return Of("noticed", f.trial, {{"kind", static_cast<int64_t>(f.kind)}, {"text", f.text}});
  }
  StoredFact operator()(const Suggested& f) const {
    json details = {{"configuration", ToJson(f.configuration)}, {"based_on", f.based_on}, {"why", f.why}};
    if (!f.model.empty()) details["model"] = f.model;
    if (f.rule != SuggestionRule::kModel) details["rule"] = static_cast<int64_t>(f.rule);
    if (f.to != 0) details["to"] = f.to;
    return Of("suggested", f.trial, std::move(details));
  }
  StoredFact operator()(const TrialCreated& f) const {
    return Of("trial_created", f.trial,
              {{"configuration", ToJson(f.configuration)},
               {"bracket", f.bracket},
               {"rung", f.rung},
               {"to", f.to},
               {"why", f.why}});
  }
  StoredFact operator()(const TrialResumed& f) const {
    return Of("trial_resumed", f.trial, {{"rung", f.rung}, {"to", f.to}, {"reason", f.reason}});
  }
  StoredFact operator()(const TrialPaused& f) const {
    return Of("trial_paused", f.trial, {{"resource", f.resource}});
  }
  StoredFact operator()(const TrialEnded& f) const {
    return Of("trial_ended", f.trial, {{"end", kEnds[static_cast<int>(f.end)]}, {"reason", f.reason}});
  }
  StoredFact operator()(const RungCut& f) const {
    return Of("rung_cut", 0,
              {{"bracket", f.bracket},
               {"rung", f.rung},
               {"resource", f.resource},
               {"ranking", f.ranking},
               {"promoted", f.promoted},
               {"cutoff", ToJson(f.cutoff)}});
  }
  StoredFact operator()(const BracketEnded& f) const {
    return Of("bracket_ended", 0, {{"bracket", f.bracket}, {"reason", f.reason}});
  }
  StoredFact operator()(const CompletionMet& f) const {
    return Of("completion_met", 0, {{"reason", f.reason}, {"nothing_left", f.nothing_left}});
  }
  StoredFact operator()(const JobEnded& f) const {
    return Of("job_ended", 0, {{"end", kEnds[static_cast<int>(f.end)]}, {"reason", f.reason}});
  }

 private:
  // Reasons contain a trainer's own words: invalid UTF-8 is replaced.
  static StoredFact Of(const char* kind, TrialNumber trial, const json& detail) {
    return {kind, trial, detail.dump(-1, ' ', false, json::error_handler_t::replace)};
  }
};

// Throws what the JSON library throws.
Fact Decode(const StoredFact& stored) {
  json d = json::parse(stored.detail);
  auto integer = [&](const char* name) { return ToInteger(d.at(name)); };
  auto integer_or_0 = [&](const char* name) { return d.contains(name) ? integer(name) : 0; };
  auto text = [&](const char* name) { return d.at(name).get<std::string>(); };
  const std::string& kind = stored.kind;
  Fact fact;
  if (kind == "reported") {
    fact.body = Reported{stored.trial, integer("attempt"), integer("resource"), ToDouble(d.at("objective"))};
  } else if (kind == "attempt_started") {
    fact.body = AttemptStarted{stored.trial, integer("attempt"), integer("from"), integer("to")};
  } else if (kind == "attempt_ended") {
    fact.body = AttemptEnded{
        stored.trial,   integer("attempt"),    FromName<AttemptOutcome>(kOutcomes, d.at("outcome")),
        text("reason"), integer("started_us"), integer("ended_us")};
  } else if (kind == "checkpoint_lost") {
    fact.body = CheckpointLost{stored.trial};
  } else if (kind == "stop_requested") {
    fact.body = StopRequested{text("reason")};
  } else if (kind == "wall_time_reached") {
    fact.body = TimeLimitReached{TimeLimit::kWall};
  } else if (kind == "node_time_reached") {
    fact.body = TimeLimitReached{TimeLimit::kNode};
  } else if (kind == "prior_observed") {
    fact.body = PriorObserved{ToConfiguration(d.at("configuration")), ToDouble(d.at("objective")),
                              integer("resource"), text("source")};
  } else if (kind == "noticed") {
    fact.body = Noticed{stored.trial, static_cast<NoticeKind>(integer("kind")), text("text")};
  } else if (kind == "suggested") {
    fact.body = Suggested{stored.trial,
                          ToConfiguration(d.at("configuration")),
                          integer("based_on"),
                          text("why"),
                          d.value("model", std::vector<double>()),
                          static_cast<SuggestionRule>(integer_or_0("rule")),
                          integer_or_0("to")};
  } else if (kind == "bracket_ended") {
    fact.body = BracketEnded{integer("bracket"), text("reason")};
  } else if (kind == "completion_met") {
    fact.body = CompletionMet{text("reason"), d.at("nothing_left").get<bool>()};
  } else if (kind == "trial_created") {
    fact.body = TrialCreated{stored.trial,       ToConfiguration(d.at("configuration")),
                             integer("bracket"), integer("rung"),
                             integer("to"),      d.value("why", "")};
  } else if (kind == "trial_resumed") {
    fact.body = TrialResumed{stored.trial, integer("rung"), integer("to"), text("reason")};
  } else if (kind == "trial_paused") {
    fact.body = TrialPaused{stored.trial, integer("resource")};
  } else if (kind == "trial_ended") {
    fact.body = TrialEnded{stored.trial, FromName<TrialEnd>(kEnds, d.at("end")), text("reason")};
  } else if (kind == "rung_cut") {
    fact.body = RungCut{integer("bracket"),        integer("rung"),     integer("resource"),
                        ToTrials(d.at("ranking")), integer("promoted"), ToDouble(d.at("cutoff"))};
  } else if (kind == "job_ended") {
    fact.body = JobEnded{FromName<JobEnd>(kEnds, d.at("end")), text("reason")};
  } else {
    throw std::invalid_argument("unknown kind " + kind);
  }
  return fact;
}

}  // namespace

StoredFact EncodeFact(const Fact& fact) { return std::visit(Encoder{}, fact.body); }

std::string_view FactKind(const Fact& fact) {
  // In the order of the variant.
  static constexpr const char* kKinds[] = {
      "reported",       "attempt_started",   "attempt_ended",  "checkpoint_lost",
      "stop_requested", "wall_time_reached", "prior_observed", "noticed",
      "suggested",      "trial_created",     "trial_resumed",  "trial_paused",
      "trial_ended",    "rung_cut",          "bracket_ended",  "completion_met",
      "job_ended"};
  static_assert(std::size(kKinds) == std::variant_size_v<decltype(Fact::body)>);
  const auto* limit = std::get_if<TimeLimitReached>(&fact.body);
  if (limit != nullptr && limit->limit == TimeLimit::kNode) return "node_time_reached";
  return kKinds[fact.body.index()];
}

absl::StatusOr<Fact> DecodeFact(const StoredFact& stored) {
  try {
    return Decode(stored);
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
