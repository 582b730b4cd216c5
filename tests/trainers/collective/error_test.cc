// Failures of groups: the same error on every rank, whatever the ranks were doing.
#include <algorithm>

#include "tests/catch.h"
#include "tests/trainers/collective/make_group.h"
#include "tests/trainers/collective/run_ranks.h"
#include "trainers/collective/rank_links.h"

namespace winnow {
namespace {

using Statuses = std::vector<absl::Status>;

// Calls AllReduceSum until it fails, at most 1000 times.
absl::Status ReduceUntilError(Communicator* group, std::size_t words = 100) {
  std::vector<uint64_t> data(words);
  absl::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) status = group->AllReduceSum(data);
  return status;
}

TEST_CASE("Communicator: the reason of a rank that gives up reaches all others", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const int ranks = GENERATE(2, 3, 4, 8);
  const std::size_t words = GENERATE(1, 50000);
  CAPTURE(kind, ranks, words);
  const Statuses got = RunRanks(MakeGroup(kind, ranks), [&](Communicator* group) {
    std::vector<uint64_t> data(words);
    // Ranks that are behind may receive it in this operation.
    if (absl::Status status = group->AllReduceSum(data); !status.ok()) return status;
    if (group->rank() == 1)
      group->Fail(absl::InvalidArgumentError("data/part-2.csv: line 7: too few columns"));
    return ReduceUntilError(group, words);
  });
  const absl::Status reason = absl::InvalidArgumentError("rank 1: data/part-2.csv: line 7: too few columns");
  CHECK(got == Statuses(ranks, reason));
}

TEST_CASE("Communicator: an error is final", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const Statuses got = RunRanks(MakeGroup(kind, 2), [&](Communicator* group) {
    std::string bytes = "x";
    if (group->rank() == 0) group->Fail(absl::DataLossError("first"));
    const absl::Status reason = absl::DataLossError("rank 0: first");
    group->Broadcast(0, &bytes).IgnoreError();
    group->Fail(absl::DataLossError("second"));
    const bool same = ReduceUntilError(group) == reason && group->AllGather("x").status() == reason &&
                      group->AllToAll({"x", "y"}).status() == reason && group->Broadcast(1, &bytes) == reason;
    return same ? reason : absl::UnknownError("forgotten");
  });
  CHECK(got == Statuses(2, absl::DataLossError("rank 0: first")));
}

TEST_CASE("Communicator: a rank that left is missed by name", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const int ranks = GENERATE(2, 4);
  CAPTURE(kind, ranks);
  const Statuses got = RunRanks(MakeGroup(kind, ranks), [&](Communicator* group) {
    return group->rank() == 1 ? absl::OkStatus() : ReduceUntilError(group);
  });
  for (int r = 0; r < ranks; ++r) {
    CAPTURE(got[r].ToString());
    if (r == 1) continue;
    CHECK(got[r].code() == absl::StatusCode::kUnavailable);
    CHECK(std::string(got[r].message()).rfind("rank 1 is gone: ", 0) == 0);
  }
}

TEST_CASE("Communicator: a rank that stands still is an error that names it", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const int ranks = GENERATE(2, 4);
  CAPTURE(kind, ranks);
  auto group = MakeGroup(kind, ranks, std::chrono::seconds(1));
  const std::unique_ptr<Communicator> still = std::move(group[1]);
  group.erase(group.begin() + 1);
  const Statuses got = RunRanks(std::move(group), [](Communicator* rank) { return ReduceUntilError(rank); });
  for (const absl::Status& status : got) {
    CHECK(status.code() == absl::StatusCode::kDeadlineExceeded);
    CHECK(std::string(status.message())
              .rfind("rank 1 stands still: nothing from it for 1 s in AllReduceSum", 0) == 0);
  }
}

TEST_CASE("RankLinks: a rank that sends garbage is an error that names it", "[collective]") {
  Frame not_a_kind, long_data, long_reason, endless;
  not_a_kind.kind = static_cast<FrameKind>(9);
  long_data.length = uint64_t{1} << 40;
  long_reason.kind = FrameKind::kFail;
  long_reason.length = uint64_t{1} << 60;
  endless.kind = FrameKind::kGoodbye;
  endless.length = -sizeof(Frame);
  const auto text = [](const Frame& frame) {
    return std::string(reinterpret_cast<const char*>(&frame), sizeof frame);
  };
  const std::string garbage =
      GENERATE_COPY(std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), text(not_a_kind),
                    text(long_data), text(long_reason), text(endless));
  const bool ends = GENERATE(false, true);
  const Deadline soon = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const Socket listener = ListenAt({LoopbackAddress(), 0}).value();
  Socket stranger = ConnectTo(OwnEndpoint(listener), soon).value();
  std::vector<Socket> sockets(2);
  while (!sockets[1].is_open()) sockets[1] = AcceptFrom(listener);
  REQUIRE(SendAll(stranger, garbage.data(), garbage.size(), soon).ok());
  if (ends) stranger.EndSending();
  RankLinks links(0, std::move(sockets), std::chrono::minutes(1));
  links.Begin(Operation::kAllGather, 0);
  std::string bytes;
  const RankLinks::Incoming in[] = {{1, {.kind = Sink::kText, .text = &bytes}}};
  CHECK(links.Exchange({}, in) == absl::DataLossError("rank 1 sends what is no message"));
}

TEST_CASE("Communicator: ranks that do different things hear of it", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const Statuses got = RunRanks(MakeGroup(kind, 3), [&](Communicator* group) {
    std::vector<uint64_t> data(group->rank() == 2 ? 11 : 10);
    return group->AllReduceSum(data);
  });
  // Ranks that had all they needed may have finished; no one may have waited for ever, and one must have seen
  // it.
  CHECK(std::any_of(got.begin(), got.end(), [](const absl::Status& status) {
    return status.code() == absl::StatusCode::kInternal &&
           std::string(status.message()).rfind("the ranks do different things: rank ", 0) == 0;
  }));
}

TEST_CASE("Communicator: words of another width are a different thing", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const Statuses got = RunRanks(MakeGroup(kind, 2), [&](Communicator* group) {
    std::vector<uint64_t> words(10);
    std::vector<uint32_t> halves(20);
    return group->rank() == 0 ? group->AllReduceSum(words) : group->AllReduceSum(halves);
  });
  CHECK(got[0].code() == absl::StatusCode::kInternal);
  CHECK(got[1] == got[0]);
}

TEST_CASE("Communicator: a group of one sends nothing", "[collective]") {
  const auto sole = MakeSoleRank();
  std::vector<uint64_t> data = {3, 4};
  CHECK(sole->AllReduceSum(data).ok());
  CHECK(data == std::vector<uint64_t>{3, 4});
  CHECK(*sole->AllToAll({"to myself"}) == std::vector<std::string>{"to myself"});
  CHECK(sole->bytes_sent() == 0);
}

}  // namespace
}  // namespace winnow
