// How ranks find each other, and which connections are rejected.
#include <chrono>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "trainers/collective/hello.h"
#include "trainers/collective/tcp_ranks.h"

namespace winnow {
namespace {

using Group = absl::StatusOr<std::unique_ptr<Communicator>>;

// Rank 0's port, and options for ranks that are to meet there.
struct MeetingPlace {
  Socket listener = *ListenAt({*ResolveHost("127.0.0.1"), 0});
  int port = OwnEndpoint(listener).port;

  RankOptions Options(int rank, int size, std::string group = "mine") const {
    RankOptions options;
    options.rank = rank;
    options.size = size;
    options.master_port = port;
    options.group = std::move(group);
    options.rendezvous_patience = std::chrono::seconds(20);
    return options;
  }
  std::future<Group> Host(int size) {
    return std::async(std::launch::async, [options = Options(0, size), mine = std::move(listener)]() mutable {
      return ConnectRanks(options, std::move(mine));
    });
  }
};

std::future<Group> Attend(const RankOptions& options) {
  return std::async(std::launch::async, [options] { return ConnectRanks(options); });
}

Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

Socket Dial(int port) { return *ConnectTo({*ResolveHost("127.0.0.1"), port}, Soon()); }

// True once the other end has hung up.
bool HungUp(const Socket& socket) {
  char byte = 0;
  return ReceiveAll(socket, &byte, 1, Soon()).code() == absl::StatusCode::kUnavailable;
}

TEST_CASE("Rendezvous: strangers at the port are shown out and disturb nobody", "[collective]") {
  MeetingPlace place;
  const Socket silent = Dial(place.port), browser = Dial(place.port);
  REQUIRE(SendAll(browser, "GET / HTTP/1.1\r\n\r\n", 18, Soon()).ok());
  auto zero = place.Host(2);
  CHECK(HungUp(browser));
  auto one = Attend(place.Options(1, 2));
  const Group a = zero.get(), b = one.get();
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  CHECK(HungUp(silent));
}

TEST_CASE("Rendezvous: a rank of another group learns whose port it is", "[collective]") {
  MeetingPlace place;
  auto zero = place.Host(2);
  const Socket stale = Dial(place.port);
  const Hello hello = HelloOf(place.Options(1, 2, "an earlier attempt"), 1);
  Welcome answer;
  REQUIRE(SendAll(stale, &hello, sizeof hello, Soon()).ok());
  REQUIRE(ReceiveAll(stale, &answer, sizeof answer, Soon()).ok());
  CHECK(answer.verdict == Welcome::kOtherGroup);
  CHECK(GroupText(answer.group) == "mine");
  CHECK(HungUp(stale));
  auto one = Attend(place.Options(1, 2));
  CHECK(zero.get().ok());
  CHECK(one.get().ok());
}

TEST_CASE("Rendezvous: two groups with one port meet one after the other", "[collective]") {
  MeetingPlace place;
  auto other_one = Attend(place.Options(1, 2, "other"));
  auto other_zero = Attend(place.Options(0, 2, "other"));
  auto zero = place.Host(2);
  auto one = Attend(place.Options(1, 2));
  for (auto* group : {&zero, &one, &other_zero, &other_one}) CHECK(group->get().ok());
}

TEST_CASE("Rendezvous: all hear which ranks never came", "[collective]") {
  MeetingPlace place;
  RankOptions options = place.Options(2, 4);
  auto two = Attend(options);
  options.rank = 0;
  options.rendezvous_patience = std::chrono::milliseconds(300);
  const Group zero = ConnectRanks(options, std::move(place.listener));
  CHECK(zero.status() == absl::DeadlineExceededError("ranks 1, 3 of 4 did not come within 0.3 s"));
  CHECK(two.get().status() == zero.status());
}

TEST_CASE("Rendezvous: without a rank 0 the error says where it was looked for", "[collective]") {
  MeetingPlace place;
  RankOptions options = place.Options(1, 2);
  options.rendezvous_patience = std::chrono::milliseconds(50);
  place.listener.Close();
  const std::string message(ConnectRanks(options).status().message());
  CHECK(message == "rank 0 is not at 127.0.0.1:" + std::to_string(place.port) +
                       " within 0.05 s; the last attempt: Connection refused");
}

TEST_CASE("Rendezvous: a rank that comes and goes ends the attempt for all", "[collective]") {
  MeetingPlace place;
  auto zero = place.Host(3);
  auto one = Attend(place.Options(1, 3));
  {
    const Socket two = Dial(place.port);
    const Hello hello = HelloOf(place.Options(2, 3), 1);
    Welcome welcome;
    REQUIRE(SendAll(two, &hello, sizeof hello, Soon()).ok());
    REQUIRE(ReceiveAll(two, &welcome, sizeof welcome, Soon()).ok());
    CHECK(welcome.verdict == Welcome::kWelcome);
  }
  CHECK(zero.get().status().code() == absl::StatusCode::kUnavailable);
  CHECK_FALSE(one.get().ok());
}

TEST_CASE("Rendezvous: ranks that disagree about the group learn in what", "[collective]") {
  MeetingPlace place;
  auto zero = place.Host(2);
  CHECK(ConnectRanks(place.Options(1, 3)).status() ==
        absl::InvalidArgumentError("rank 0 expects 2 ranks, rank 1 says 3"));
  auto one = Attend(place.Options(1, 2));
  CHECK(zero.get().ok());
  CHECK(one.get().ok());
  CHECK(ConnectRanks(place.Options(3, 3)).status() ==
        absl::InvalidArgumentError("rank 3 of 3: expected 0 to 2"));
}

TEST_CASE("RankOptionsFrom: reads what a trainer is given", "[collective]") {
  std::map<std::string, std::string> variables = {
      {"RANK", "2"},        {"WORLD_SIZE", "4"},    {"MASTER_ADDR", "node-1"}, {"MASTER_PORT", "29501"},
      {"WINNOW_JOB", "j7"}, {"WINNOW_TRIAL", "12"}, {"WINNOW_ATTEMPT", "3"}};
  const EnvironmentVariables environment = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  const auto options = RankOptionsFrom(environment);
  REQUIRE(options.ok());
  CHECK(options->rank == 2);
  CHECK(options->size == 4);
  CHECK(options->master_address == "node-1");
  CHECK(options->master_port == 29501);
  CHECK(options->group == "job j7 trial 12 attempt 3");
  CHECK(options->rendezvous_patience == std::chrono::minutes(5));
  CHECK(options->patience == std::chrono::minutes(10));

  const std::vector<std::array<std::string, 3>> mistakes = {
      {"RANK", "4", "RANK = 4: expected a whole number from 0 to 3"},
      {"RANK", "", "RANK is not set: expected a whole number from 0 to 3"},
      {"WORLD_SIZE", "two", "WORLD_SIZE = two: expected a whole number from 1 to 4096"},
      {"WINNOW_RENDEZVOUS_SECONDS", "0",
       "WINNOW_RENDEZVOUS_SECONDS = 0: expected a whole number from 1 to 604800"},
      {"WINNOW_RANK_PATIENCE_SECONDS", "1.5",
       "WINNOW_RANK_PATIENCE_SECONDS = 1.5: expected a whole number from 1 to 604800"},
      {"MASTER_PORT", "0", "MASTER_PORT = 0: expected a whole number from 1 to 65535"},
      {"MASTER_ADDR", "", "MASTER_ADDR is not set: expected the name or address of rank 0's machine"}};
  for (const auto& [name, value, message] : mistakes) {
    const std::string before = std::exchange(variables[name], value);
    CHECK(RankOptionsFrom(environment).status() == absl::InvalidArgumentError(message));
    variables[name] = before;
  }
}

TEST_CASE("RankOptionsFrom: the user says how long ranks wait", "[collective]") {
  const std::map<std::string, std::string> variables = {{"RANK", "0"},
                                                        {"WORLD_SIZE", "2"},
                                                        {"MASTER_ADDR", "node-1"},
                                                        {"MASTER_PORT", "29501"},
                                                        {"WINNOW_RENDEZVOUS_SECONDS", "20"},
                                                        {"WINNOW_RANK_PATIENCE_SECONDS", "45"}};
  const auto options = RankOptionsFrom([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  REQUIRE(options.ok());
  CHECK(options->rendezvous_patience == std::chrono::seconds(20));
  CHECK(options->patience == std::chrono::seconds(45));
}

TEST_CASE("RanksFromEnvironment: no WORLD_SIZE, or 1, is a group of one", "[collective]") {
  const char* const size = GENERATE(static_cast<const char*>(nullptr), "1");
  const auto group = RanksFromEnvironment(
      [&](const char* name) { return std::string(name) == "WORLD_SIZE" ? size : nullptr; });
  REQUIRE(group.ok());
  CHECK((*group)->size() == 1);
}

}  // namespace
}  // namespace winnow
