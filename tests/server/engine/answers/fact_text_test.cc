#include "server/engine/answers/fact_text.h"

#include "tests/catch.h"
#include "tests/store/example_facts.h"

namespace winnow {
namespace {

TEST_CASE("Fact text: each fact is one sentence", "[store]") {
  std::vector<std::string> told;
  for (const Fact& fact : OneOfEachKind()) told.push_back(FactText(fact, {"auc"}));
  CHECK(told ==
        std::vector<std::string>{
            "Trial 3 reported auc = 0.75 at resource 9.",
            "Trial 3 starts attempt 2 from resource 9, to train to resource 27.",
            "Trial 3 failed in attempt 2: exit code 3: \"no\" memory\n",
            "Trial 3 starts from scratch: no free worker has its checkpoint or its suspended program.",
            "Trial 3 has its own copy of the checkpoint that it goes on from.",
            "The job is asked to stop: stopped by request",
            "The job has reached its wall-time limit.",
            "Known from job old, trial 7: auc = 0.625.",
            "Trial 3 trains past its budget.",
            "The search model proposes trial 4: it promises most",
            "Trial 4 is created in bracket 2, to train to resource 9: it promises most",
            "Trial 3 goes on, to train to resource 27: 2nd of 9",
            "Trial 3 pauses at resource 9.",
            "Trial 3 was pruned: ranked 5th of 9",
            "Bracket 1 is cut at resource 9: 1 of 3 trials go on (cut-off auc = 0.75).",
            "Bracket 2 is ended: behind bracket 1 at resource 9",
            "The search is complete: auc has reached 0.75",
            "The job is complete: all brackets are done",
            "The job is paused by ana: the disk is full. Nothing starts until it is resumed.",
            "The job is resumed by ana.",
            "The limits are now max_trials = 20, max_parallel_trials = 4, max_total_resource = 900, "
            "max_wall_seconds = 60, max_cost = 12.5: changed by ana: more budget.",
            "Trial 3 is asked to stop by ana: too slow.",
            "A configuration is enqueued by ana: it won last year.",
            "The job is continued by ana: ten trials more.",
            "The priority is now -3, and the weight 2.5: changed by ana: it is urgent.",
            "The range of eta is now 0.125 to 0.5: changed by ana: the best lie there.",
            "Trial 3 is kept from being pruned by ana: it starts slowly.",
        });
}

TEST_CASE("Fact text: no kind and no outcome is left without words", "[store]") {
  for (const Fact& fact : ExampleFacts()) CHECK(FactText(fact, {"auc"}).size() > 10);
}

TEST_CASE("Fact text: a report names its metric", "[store]") {
  CHECK(FactText({1, 1, Reported{3, 1, 9, 0.75, 1}}, {"auc", "size"}) ==
        "Trial 3 reported size = 0.75 at resource 9.");
}

TEST_CASE("Fact text: what does not apply is left out", "[store]") {
  CHECK(FactText({1, 1, TrialCreated{1, {}, -1, 0, 0}}, {"auc"}) ==
        "Trial 1 is created, to train to the trainer's own end.");
  CHECK(FactText({1, 1, Suggested{0, {}, 3, ""}}, {"auc"}) ==
        "The search model proposes no further training.");
  CHECK(FactText({1, 1, TimeLimitReached{TimeLimit::kNode}}, {"auc"}) ==
        "The job has reached its limit of node time.");
  CHECK(FactText({1, 1, TimeLimitReached{TimeLimit::kCost}}, {"auc"}) ==
        "The job has reached its limit of cost.");
  CHECK(FactText({1, 1, TrialEnded{1, TrialEnd::kCompleted, ""}}, {"auc"}) == "Trial 1 is complete.");
  CHECK(FactText({1, 1, TrialEnded{1, TrialEnd::kStopped, "too late"}}, {"auc"}, TrialPhase::kCancelled) ==
        "Trial 1 was cancelled: too late");
  CHECK(FactText({1, 1, Suggested{2, {}, 3, "it may win"}}, {"auc"}) ==
        "The search model proposes to resume trial 2: it may win");
  CHECK(FactText({1, 1, AttemptEnded{1, 2, AttemptOutcome::kHandedBack, "", 0, 0}}, {"auc"}) ==
        "Trial 1 was handed back in attempt 2 by a worker that leaves.");
  CHECK(FactText({1, 1, AttemptEnded{1, 2, AttemptOutcome::kLost, "client me is silent", 0, 0}}, {"auc"}) ==
        "Trial 1 lost attempt 2: client me is silent");
  CHECK(FactText({1, 1, RangeChanged{"", "", "kind", {std::string("a"), std::string("b")}, true}}, {"auc"}) ==
        "The values of kind are now a, b: changed.");
  CHECK(FactText({1, 1, AttemptStarted{1, 1, 0, 0}}, {"auc"}) ==
        "Trial 1 starts, to train to the trainer's own end.");
}

}  // namespace
}  // namespace winnow
