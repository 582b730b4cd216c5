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

TEST_CASE("Fact codec: the kinds are those that clients get", "[store]") {
  std::vector<std::string> kinds;
  for (const Fact& fact : OneOfEachKind()) kinds.emplace_back(FactKind(fact));
  CHECK(kinds == std::vector<std::string>{"reported",
                                          "attempt_started",
                                          "attempt_ended",
                                          "checkpoint_lost",
                                          "checkpoint_taken",
                                          "stop_requested",
                                          "wall_time_reached",
                                          "prior_observed",
                                          "noticed",
                                          "suggested",
                                          "trial_created",
                                          "trial_resumed",
                                          "trial_paused",
                                          "trial_ended",
                                          "rung_cut",
                                          "bracket_ended",
                                          "completion_met",
                                          "job_ended",
                                          "job_paused",
                                          "job_resumed",
                                          "limits_changed",
                                          "trial_stop_requested",
                                          "configuration_enqueued",
                                          "job_continued",
                                          "scheduling_changed",
                                          "range_changed",
                                          "trial_kept"});
}

TEST_CASE("Fact codec: rows are written as every release has written them", "[store]") {
  std::vector<std::string> rows;
  for (const Fact& fact : ExampleFacts()) {
    const StoredFact stored = EncodeFact(fact);
    rows.push_back(stored.kind + " " + std::to_string(stored.trial) + " " + stored.detail);
  }
  const std::vector<std::string> expected = {
      R"(reported 3 {"attempt":1,"objective":0.75,"resource":9})",
      R"(attempt_started 3 {"attempt":2,"from":9,"to":27})",
      R"(attempt_ended 3 {"attempt":2,"ended_us":2,"outcome":"failed",)"
      R"("reason":"exit code 3: \"no\" memory\n","started_us":1})",
      R"(checkpoint_lost 3 {})",
      R"(checkpoint_taken 3 {})",
      R"(stop_requested 0 {"reason":"stopped by request"})",
      R"(wall_time_reached 0 {})",
      R"(prior_observed 0 {"configuration":[5,0.5,"sgd"],"objective":0.625,"resource":27,)"
      R"("source":"job old, trial 7"})",
      R"(noticed 3 {"kind":2,"text":"Trial 3 trains past its budget."})",
      R"(suggested 4 {"based_on":6,"configuration":[7,0.125,"adam"],"model":[12.0,-0.1,1e-300],"rule":4,)"
      R"("to":81,"why":"it promises most"})",
      R"(trial_created 4 {"bracket":1,"configuration":[7,0.125,"adam"],"rung":0,"to":9,)"
      R"("why":"it promises most"})",
      R"(trial_resumed 3 {"reason":"2nd of 9","rung":1,"to":27})",
      R"(trial_paused 3 {"resource":9})",
      R"(trial_ended 3 {"end":"stopped","reason":"ranked 5th of 9"})",
      R"(rung_cut 0 {"bracket":0,"cutoff":0.75,"promoted":1,"ranking":[3,1,2],"resource":9,"rung":1})",
      R"(bracket_ended 0 {"bracket":1,"reason":"behind bracket 1 at resource 9"})",
      R"(completion_met 0 {"nothing_left":false,"reason":"auc has reached 0.75"})",
      R"(job_ended 0 {"end":"completed","reason":"all brackets are done"})",
      R"(job_paused 0 {"by":"ana","why":"the disk is full"})",
      R"(job_resumed 0 {"by":"ana","why":""})",
      R"(limits_changed 0 {"by":"ana","max_cost":12.5,"max_node_time_us":0,"max_parallel_trials":4,)"
      R"("max_total_resource":900,"max_trials":20,"max_wall_time_us":60000000,"why":"more budget"})",
      R"(trial_stop_requested 3 {"by":"ana","why":"too slow"})",
      R"(configuration_enqueued 0 {"by":"ana","configuration":[7,0.125,"adam"],"why":"it won last year"})",
      R"(job_continued 0 {"by":"ana","why":"ten trials more"})",
      R"(scheduling_changed 0 {"by":"ana","priority":-3,"weight":2.5,"why":"it is urgent"})",
      R"(range_changed 0 {"by":"ana","listed":false,"parameter":"eta","values":[0.125,0.5],)"
      R"("why":"the best lie there"})",
      R"(trial_kept 3 {"by":"ana","why":"it starts slowly"})",
      R"(attempt_ended 1 {"attempt":1,"ended_us":0,"outcome":"finished","reason":"","started_us":0})",
      R"(attempt_ended 1 {"attempt":1,"ended_us":0,"outcome":"lost","reason":"","started_us":0})",
      R"(attempt_ended 1 {"attempt":1,"ended_us":0,"outcome":"handed_back","reason":"","started_us":0})",
      R"(attempt_ended 1 {"attempt":1,"ended_us":0,"outcome":"stopped","reason":"","started_us":0})",
      R"(trial_ended 1 {"end":"completed","reason":""})",
      R"(trial_ended 1 {"end":"failed","reason":""})",
      R"(job_ended 0 {"end":"stopped","reason":"x"})",
      R"(job_ended 0 {"end":"failed","reason":"x"})",
      R"(trial_created 1 {"bracket":-1,"configuration":[],"rung":0,"to":0,"why":""})",
      R"(rung_cut 0 {"bracket":2,"cutoff":{"bits":"7ff8000000000000"},"promoted":0,"ranking":[],)"
      R"("resource":1,"rung":0})",
      R"(rung_cut 0 {"bracket":0,"cutoff":{"bits":"7ff8000000000000"},"promoted":1,"ranking":[2,1],)"
      R"("reference":[0.5,-2.0],"resource":1,"rung":0})",
      R"(attempt_started 1 {"attempt":1,"from":0,"to":0})",
      R"(attempt_started 1 {"attempt":1,"from":0,"pools":["cpu",""],"prices":[0.25,0.0],"to":9})",
      R"(node_time_reached 0 {})",
      R"(cost_reached 0 {})",
      R"(trial_created 1 {"bracket":-1,"configuration":["svm",null,1.0],"rung":0,"to":0,"why":""})",
      R"(prior_observed 0 {"configuration":[null],"objective":{"bits":"7ff0000000000000"},"resource":0,)"
      R"("source":""})",
      R"(suggested 3 {"based_on":0,"configuration":[],"why":"resume it"})",
      R"(suggested 0 {"based_on":17,"configuration":[],"why":"nothing is worth training"})",
      R"(completion_met 0 {"nothing_left":true,"reason":"nothing is left"})",
      R"(limits_changed 0 {"by":"","max_cost":0.0,"max_node_time_us":0,"max_parallel_trials":0,)"
      R"("max_total_resource":0,"max_trials":0,"max_wall_time_us":0,"why":""})",
      R"(trial_kept 3 {"by":"ben","released":true,"why":""})",
      R"(range_changed 0 {"by":"","listed":true,"parameter":"booster","values":["gbtree","dart"],"why":""})",
      R"(range_changed 0 {"by":"","listed":false,"parameter":"depth","values":[1,1152921504606846976],)"
      R"("why":""})",
  };
  CHECK(rows == expected);
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
