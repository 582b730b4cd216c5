#include "scheduler/replay.h"

#include <set>

#include "scheduler/decide.h"
#include "scheduler/state/job_state.h"
#include "scheduler/suggest.h"

namespace winnow {
namespace {

FactBody WithoutWords(FactBody body) {
  std::visit(
      [](auto& fact) {
        if constexpr (requires { fact.reason; }) fact.reason.clear();
        if constexpr (requires { fact.why; }) fact.why.clear();
      },
      body);
  return body;
}

// Where a trial runs, and for what price, is not decided here.
FactBody WithoutPlaces(FactBody body) {
  if (auto* started = std::get_if<AttemptStarted>(&body)) {
    started->pools.clear();
    started->prices.clear();
  }
  return body;
}

bool SameDecision(const FactBody& a, const FactBody& recorded, Wording wording) {
  const FactBody b = WithoutPlaces(recorded);
  return wording == Wording::kCompared ? Identical(a, b) : Identical(WithoutWords(a), WithoutWords(b));
}

FactBody BodyOf(const JobState& state, const Admission& due) {
  if (due.decision) return ToBody(*due.decision);
  return AttemptStarted{due.trial, state.trial(due.trial).attempts + 1, due.from, due.to};
}

// What has to stand in place of a fact that starts a new entry of the record; "": the fact is right.
std::string Expected(const JobState& state, const FactBody& body, Wording wording) {
  if (IsObserved(body)) return "";
  std::string first;
  std::set<TrialNumber> passed;
  while (const auto due = Admit(state, passed)) {
    const FactBody expected = BodyOf(state, *due);
    if (SameDecision(expected, body, wording)) return "";
    if (first.empty()) first = Describe(expected);
    // Where a suspended program was, and whether there was room, is not part of the record.
    const bool may_wait = state.spec().suspends && !due->decision && due->from > 0;
    if (!may_wait) break;
    passed.insert(due->trial);
  }
  return first.empty() ? "no admission: there is no work for a free slot" : first;
}

}  // namespace

Mismatch Verify(const SearchSpec& spec, const std::vector<Fact>& facts, Wording wording) {
  JobState state(spec);
  std::set<int64_t> asked;  // the facts after which the model was asked
  for (const Fact& fact : facts) {
    if (const auto* suggested = std::get_if<Suggested>(&fact.body)) asked.insert(suggested->based_on);
  }
  Suggested answer;
  std::vector<FactBody> due;  // decisions still to come, the next one last
  for (const Fact& fact : facts) {
    if (asked.count(state.last_sequence()) > 0 && WantsSuggestion(state)) answer = Suggest(state);
    const auto mismatch = [&fact](std::string expected) {
      return Mismatch{fact.sequence, Describe(fact.body), std::move(expected)};
    };
    if (std::holds_alternative<Suggested>(fact.body) && due.empty()) {
      if (!SameDecision(answer, fact.body, wording)) return mismatch(Describe(answer));
    } else if (due.empty()) {
      std::string expected = Expected(state, fact.body, wording);
      if (!expected.empty()) return mismatch(std::move(expected));
    } else {
      if (!SameDecision(due.back(), fact.body, wording)) return mismatch(Describe(due.back()));
      due.pop_back();
    }
    if (std::string why = state.Contradiction(fact); !why.empty()) {
      return mismatch("a fact that fits the state: " + why);
    }
    state.Apply(fact);
    const std::vector<Decision> decisions = Decide(state, fact);
    for (auto d = decisions.rbegin(); d != decisions.rend(); ++d) due.push_back(ToBody(*d));
    while (!due.empty() && IsMoot(state, due.back())) due.pop_back();
  }
  if (due.empty()) return {};
  return {state.last_sequence() + 1, "the end of the record", Describe(due.back())};
}

}  // namespace winnow
