// How a worker's state takes refusals of its registration.

#include "tests/catch.h"
#include "worker/agent_state.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;
using Setback = AgentState::Setback;

const absl::Status kInUse = absl::AlreadyExistsError("the name is in use");
const absl::Status kGivenUp = absl::FailedPreconditionError("lost");

struct Registration {
  uint64_t Call() {
    const auto call = state.Next(now);
    REQUIRE(call.has_value());
    return call->number;
  }
  Setback Fail(const absl::Status& status) { return state.Failed(Call(), status, now); }
  // Registers, is given up, and waits until it may register again; how long that was.
  AgentState::TimePoint::duration BeGivenUp() {
    state.Answered(Call(), {}, now);
    CHECK(Fail(kGivenUp) == Setback::kRegisterAgain);
    state.Register("id");
    CHECK_FALSE(state.Next(now).has_value());
    const auto pause = *state.NextTime() - now;
    now += pause;
    return pause;
  }

  AgentState state{{"worker-a", "host", 2, "storage", "1", 29500}, "id"};
  AgentState::TimePoint now{std::chrono::hours(1)};
};

}  // namespace

TEST_CASE("AgentState: a name in use ends a new worker, one that was given up tries on", "[worker]") {
  CHECK(Registration().Fail(kInUse) == Setback::kRefused);

  Registration known;
  known.BeGivenUp();
  CHECK(known.Fail(kInUse) == Setback::kRetry);
  CHECK(*known.state.NextTime() > known.now);
}

TEST_CASE("AgentState: a worker that is given up again and again comes back ever more slowly", "[worker]") {
  Registration worker;
  for (const int expected : {50, 100, 200, 400, 800, 1600, 2000, 2000}) {
    const auto pause = worker.BeGivenUp();
    CHECK(pause <= milliseconds(expected));
    CHECK(pause >= milliseconds(expected) * 3 / 4);
  }
  worker.now += std::chrono::minutes(2);
  CHECK(worker.BeGivenUp() <= milliseconds(50));
}

}  // namespace winnow
