#include "store/fact_codec.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tests/catch.h"
#include "tests/store/example_facts.h"

namespace winnow {
namespace {

TEST_CASE("Fact codec: every kind comes back as it was", "[store]") {
  for (const Fact& fact : ExampleFacts()) {
    StoredFact stored = EncodeFact(fact);
    INFO(stored.kind << " " << stored.detail);
    CHECK(stored.kind == FactKind(fact));
    auto back = DecodeFact(stored);
    REQUIRE(back.ok());
    CHECK(Identical(back->body, fact.body));
    StoredFact again = EncodeFact(*back);
    CHECK(again.kind == stored.kind);
    CHECK(again.trial == stored.trial);
    CHECK(again.detail == stored.detail);
  }
}

TEST_CASE("Fact codec: the kinds are those that clients are told", "[store]") {
  std::vector<std::string> kinds;
  for (const Fact& fact : OneOfEachKind()) kinds.emplace_back(FactKind(fact));
  CHECK(kinds == std::vector<std::string>{"reported", "attempt_started", "attempt_ended", "checkpoint_lost",
                                          "stop_requested", "wall_time_reached", "prior_observed",
                                          "noticed", "suggested", "trial_created", "trial_resumed", "trial_paused",
                                          "trial_ended", "rung_cut", "bracket_ended", "completion_met",
                                          "job_ended"});
}

TEST_CASE("Fact codec: doubles keep every bit", "[store]") {
  using Limits = std::numeric_limits<double>;
  double value = GENERATE(0.0, -0.0, 0.1, 1.0 / 3, 1e-320, 1e308, 12345678901234567.0, Limits::denorm_min(),
                          Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN(),
                          std::bit_cast<double>(uint64_t{0x7ff8000000001234}));
  Fact fact{1, 2, RungCut{0, 1, 3, {2, 1}, 1, value}};
  auto back = DecodeFact(EncodeFact(fact));
  REQUIRE(back.ok());
  CHECK(std::bit_cast<uint64_t>(std::get<RungCut>(back->body).cutoff) == std::bit_cast<uint64_t>(value));
}

TEST_CASE("Fact codec: a configuration keeps kinds apart", "[store]") {
  Configuration configuration = {int64_t{1},
                                 1.0,
                                 std::string("1"),
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min(),
                                 1e300,
                                 Inactive{},
                                 std::string("a\"b\\ü")};
  auto back = DecodeConfiguration(EncodeConfiguration(configuration));
  REQUIRE(back.ok());
  CHECK(*back == configuration);
}

TEST_CASE("Fact codec: words that are not UTF-8 do no harm", "[store]") {
  Fact fact{1, 2, TrialEnded{1, TrialEnd::kFailed, "bad \xff\xfe byte"}};
  auto back = DecodeFact(EncodeFact(fact));
  REQUIRE(back.ok());
  CHECK_THAT(std::get<TrialEnded>(back->body).reason, Catch::StartsWith("bad ") && Catch::EndsWith(" byte"));
}

TEST_CASE("Fact codec: a trial of a file without reasons for its choice is read", "[store]") {
  auto fact = DecodeFact({"trial_created", 2, R"({"configuration":[0.5],"bracket":-1,"rung":0,"to":3})"});
  REQUIRE(fact.ok());
  CHECK(Identical(fact->body, TrialCreated{2, {0.5}, -1, 0, 3, ""}));
}

TEST_CASE("Fact codec: a damaged row is an error that shows it", "[store]") {
  auto stored =
      GENERATE(StoredFact{"trial_ended", 1, "{"}, StoredFact{"trial_ended", 1, R"({"end":"eaten"})"},
               StoredFact{"trial_paused", 1, "{}"}, StoredFact{"trial_painted", 1, "{}"},
               StoredFact{"rung_cut", 0, R"({"bracket":"x"})"});
  auto fact = DecodeFact(stored);
  CHECK(fact.status().code() == absl::StatusCode::kDataLoss);
  CHECK_THAT(std::string(fact.status().message()),
             Catch::Contains(stored.kind) && Catch::Contains(stored.detail));
}

}  // namespace
}  // namespace winnow
