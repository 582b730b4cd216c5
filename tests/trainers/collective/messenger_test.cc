// Messages between ranks, over any transport of the group.
#include "trainers/collective/messenger.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "fmt/format.h"
#include "tests/catch.h"
#include "tests/trainers/collective/make_group.h"
#include "tests/trainers/collective/rank_process.h"
#include "tests/trainers/collective/run_ranks.h"
#include "trainers/collective/mesh.h"
#include "trainers/collective/message_link.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMebibyte = 1 << 20;

// Calls work(Messenger*) on a thread for each rank and returns the answers by rank.
template <typename Work>
auto RunMessengers(const std::string& kind, int ranks, Work work,
                   milliseconds patience = milliseconds(60000)) {
  return RunRanks(MakeGroup(kind, ranks), [&](Communicator* group) {
    return work(ConnectMessenger(group, {patience}).value().get());
  });
}

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

std::string TextOf(const absl::StatusOr<Message>& message) {
  return message.ok() ? fmt::format("{}:{}", message->from, message->bytes) : message.status().ToString();
}

TEST_CASE("Messenger: messages of a tag come from each sender in the order they were sent", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const int ranks = GENERATE(1, 2, 4);
  CAPTURE(kind, ranks);
  constexpr int kMessages = 2000;
  const auto right = RunMessengers(kind, ranks, [&](Messenger* messenger) {
    for (int i = 0; i < kMessages; ++i) {
      const std::string text = std::to_string(i) + std::string(i * 37 % 5000, 'x');
      for (int to = 0; to < ranks; ++to) messenger->Send(to, i % 2, BytesOf(text)).IgnoreError();
    }
    int count = 0;
    for (int tag = 1; tag >= 0; --tag) {
      for (int from = 0; from < ranks; ++from) {
        for (int i = tag; i < kMessages; i += 2)
          count += TextOf(messenger->Receive(from, tag)) ==
                   fmt::format("{}:{}{}", from, i, std::string(i * 37 % 5000, 'x'));
      }
    }
    return messenger->Close().ok() ? count : -1;
  });
  CHECK(right == std::vector<int>(ranks, kMessages * ranks));
}

TEST_CASE("Messenger: whoever has sent is heard where any is asked for", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const auto sums = RunMessengers(kind, 4, [&](Messenger* messenger) {
    for (int i = 0; i < 100; ++i) messenger->Send(0, 5, BytesOf(std::to_string(i))).IgnoreError();
    std::vector<int> next(4);
    for (int i = 0; messenger->rank() == 0 && i < 400; ++i) {
      const Message message = messenger->ReceiveAny(5).value();
      next[message.from] =
          message.bytes == std::to_string(next[message.from]) ? next[message.from] + 1 : -1000;
    }
    messenger->Close().IgnoreError();
    return next;
  });
  CHECK(sums[0] == std::vector<int>(4, 100));
}

TEST_CASE("Messenger: long messages arrive whole, both ways at once", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const int ranks = GENERATE(2, 3);
  const auto right = RunMessengers(kind, ranks, [&](Messenger* messenger) {
    const auto long_text = [](int from, int to) {
      std::string text(16 * kMebibyte + from, '\0');
      for (std::size_t i = 0; i < text.size(); ++i)
        text[i] = static_cast<char>((i * 2654435761u) >> 7) + static_cast<char>(from * 16 + to);
      return text;
    };
    const int me = messenger->rank();
    for (int to = 0; to < ranks; ++to) messenger->Send(to, 1, BytesOf(long_text(me, to))).IgnoreError();
    int count = 0;
    for (int from = 0; from < ranks; ++from)
      count += messenger->Receive(from, 1).value().bytes == long_text(from, me);
    return messenger->Close().ok() ? count : -1;
  });
  CHECK(right == std::vector<int>(ranks, ranks));
}

TEST_CASE("Messenger: many threads of every rank send and receive", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  constexpr int kThreads = 4, kMessages = 500;
  const auto sums = RunMessengers(kind, 3, [&](Messenger* messenger) {
    std::atomic<int> sum = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kMessages; ++i) {
          for (int to = 0; to < 3; ++to) messenger->Send(to, 1, BytesOf(std::to_string(i))).IgnoreError();
        }
      });
      threads.emplace_back([&] {
        for (int i = 0; i < 3 * kMessages; ++i) sum += std::stoi(messenger->ReceiveAny(1).value().bytes);
      });
    }
    for (std::thread& thread : threads) thread.join();
    messenger->Close().IgnoreError();
    return sum.load();
  });
  CHECK(sums == std::vector<int>(3, 3 * kThreads * kMessages * (kMessages - 1) / 2));
}

TEST_CASE("Messenger: a sender waits where a rank leaves far too much", "[collective]") {
  constexpr int kMessages = 40;  // of 4 MiB: more than twice what may be left
  std::atomic<int> sent = 0;
  const auto most = RunMessengers("threads", 2, [&](Messenger* messenger) {
    int ahead = 0;
    if (messenger->rank() == 0) {
      const std::vector<std::byte> bytes(4 * kMebibyte);
      for (int i = 0; i < kMessages; ++i, ++sent) messenger->Send(1, 1, bytes).IgnoreError();
    }
    for (int taken = 0; messenger->rank() == 1 && taken < kMessages; ++taken) {
      messenger->Receive(0, 1).value();
      ahead = std::max(ahead, sent.load() - taken);
    }
    messenger->Close().IgnoreError();
    return ahead;
  });
  CHECK(most[1] <= 21);
}

TEST_CASE("Messenger: after closing, what came is there and nothing more comes", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const auto answers = RunMessengers(kind, 2, [&](Messenger* messenger) {
    const int other = 1 - messenger->rank();
    messenger->Send(other, 7, BytesOf("last")).IgnoreError();
    std::vector<std::string> said = {messenger->Close().ToString(), messenger->Close().ToString()};
    said.push_back(messenger->Send(other, 7, BytesOf("late")).ToString());
    said.push_back(messenger->Send(messenger->rank(), 7, BytesOf("late")).ToString());
    said.push_back(TextOf(messenger->Receive(other, 7)).substr(2));
    said.push_back(TextOf(messenger->Receive(other, 7)));
    said.push_back(TextOf(messenger->ReceiveAny(7)));
    return said;
  });
  for (int r = 0; r < 2; ++r) {
    const std::string late = "FAILED_PRECONDITION: closed: nothing more can be sent";
    CHECK(answers[r] ==
          std::vector<std::string>{
              "OK", "OK", late, late, "last",
              fmt::format("OUT_OF_RANGE: no message of tag 7 comes from rank {}: closed", 1 - r),
              "OUT_OF_RANGE: no message of tag 7 comes from any rank: closed"});
  }
}

TEST_CASE("Messenger: bytes to others are counted", "[collective]") {
  const auto sent = RunMessengers("threads", 3, [&](Messenger* messenger) {
    for (int to = 0; to < 3; ++to) messenger->Send(to, 1, BytesOf("12345")).IgnoreError();
    messenger->Close().IgnoreError();
    return messenger->bytes_sent();
  });
  CHECK(sent == std::vector<uint64_t>(3, 10));
}

TEST_CASE("Messenger: the reason of a rank that gives up reaches all others", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const std::size_t under_way = GENERATE(0, 40 * kMebibyte);
  const auto got = RunMessengers(kind, 4, [&](Messenger* messenger) {
    const std::vector<std::byte> bytes(under_way);
    for (int to = 0; to < 4; ++to) messenger->Send(to, 1, bytes).IgnoreError();
    if (messenger->rank() == 2) messenger->Fail(absl::DataLossError("loss is not a number"));
    const absl::Status status = messenger->ReceiveAny(3).status();
    const bool final = messenger->Close() == status && messenger->Send(0, 1, {}) == status &&
                       messenger->Receive(1, 1).status() == status;
    return final ? status : absl::UnknownError("forgotten");
  });
  CHECK(got == std::vector<absl::Status>(4, absl::DataLossError("rank 2: loss is not a number")));
}

TEST_CASE("Messenger: a rank that leaves without closing is missed by name", "[collective]") {
  const auto got = RunMessengers("tcp", 4, [](Messenger* messenger) {
    return messenger->rank() == 1 ? absl::OkStatus() : messenger->ReceiveAny(3).status();
  });
  const absl::Status gone = absl::UnavailableError("rank 1 is gone: it left the group");
  CHECK(got == std::vector<absl::Status>{gone, absl::OkStatus(), gone, gone});
}

// What the ranks of a group of three get where rank 1 keeps to `behave` with its connections.
template <typename Behave>
std::vector<absl::Status> WithStrangeRank(milliseconds patience, Behave behave) {
  return RunRanks(MakeGroup("threads", 3), [&](Communicator* group) {
    if (group->rank() == 1) return behave(ConnectAgain(group, milliseconds(60000)).value());
    const auto messenger = ConnectMessenger(group, {patience}).value();
    const absl::Status status = messenger->Receive(1, 3).status();
    return messenger->Close().ok() || status == messenger->Close() ? status : absl::UnknownError("forgotten");
  });
}

TEST_CASE("Messenger: a rank that sends garbage is an error that names it, everywhere", "[collective]") {
  MessageHead not_a_kind, unsent, long_reason;
  not_a_kind.kind = static_cast<MessageKind>(9);
  unsent.kind = MessageKind::kTaken;
  unsent.size = 100;
  long_reason.kind = MessageKind::kFail;
  long_reason.size = uint64_t{1} << 60;
  const auto text = [](const MessageHead& head) {
    return std::string(reinterpret_cast<const char*>(&head), sizeof head);
  };
  const std::string garbage = GENERATE_COPY(std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1000, '\0'),
                                            text(not_a_kind), text(unsent), text(long_reason));
  const auto got = WithStrangeRank(milliseconds(60000), [&](std::vector<Socket> sockets) {
    const Deadline soon = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    SendAll(sockets[0], garbage.data(), garbage.size(), soon).IgnoreError();
    // Until both have ended it.
    std::string end(1 << 16, '\0');
    for (const int r : {0, 2})
      while (ReceiveAll(sockets[r], end.data(), end.size(), soon).ok()) continue;
    return absl::OkStatus();
  });
  CHECK(got[0] == absl::DataLossError("rank 1 sends what is no message"));
  CHECK(got[2] == got[0]);
}

TEST_CASE("Messenger: a rank that is silent is an error that names it, when patience has run out",
          "[collective]") {
  const auto got = WithStrangeRank(milliseconds(200), [&](std::vector<Socket> sockets) {
    const Deadline soon = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::string end(1 << 16, '\0');
    for (const int r : {0, 2})
      while (ReceiveAll(sockets[r], end.data(), end.size(), soon).ok()) continue;
    return absl::OkStatus();
  });
  CHECK(got[0] == absl::DeadlineExceededError(
                      "rank 1 stands still: nothing from it for 0.2 s in the exchange of messages"));
  CHECK(got[2] == got[0]);
}

TEST_CASE("Messenger: signs of life keep ranks together that have nothing to say", "[collective]") {
  constexpr int kPulses = 20;  // five times the patience
  const auto got = WithStrangeRank(milliseconds(200), [&](std::vector<Socket> sockets) {
    const Deadline soon = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    MessageHead head;
    for (int i = 0; i < kPulses; ++i) {
      for (const int r : {0, 2}) {
        if (!ReceiveAll(sockets[r], &head, sizeof head, soon).ok()) return absl::UnavailableError("no pulse");
        SendAll(sockets[r], &head, sizeof head, soon).IgnoreError();
      }
    }
    head.kind = MessageKind::kGoodbye;
    for (const int r : {0, 2}) SendAll(sockets[r], &head, sizeof head, soon).IgnoreError();
    // Until both have gone.
    for (const int r : {0, 2})
      while (ReceiveAll(sockets[r], &head, sizeof head, soon).ok()) continue;
    return absl::OkStatus();
  });
  CHECK(got[1].ok());
  for (const int r : {0, 2})
    CHECK(got[r] == absl::OutOfRangeError("no message of tag 3 comes from rank 1: closed"));
}

TEST_CASE("Messenger: processes exchange messages", "[collective]") {
  for (const auto& rank : StartRanks("messenger_program", 3, {"10000", "100000", "200"}))
    CHECK(rank->ReadLine() == "ok");
}

TEST_CASE("Messenger: every survivor hears at once which rank was killed", "[collective]") {
  const int size = GENERATE(2, 4);
  const std::string bytes = GENERATE("1", "5000000"), count = GENERATE("-1", "0");
  const RankProcesses ranks = StartRanks("messenger_program", size, {"3600000", bytes, count});
  ranks[1]->Signal(SIGKILL);
  for (int r = 0; r < size; ++r) {
    if (r != 1) CHECK(ranks[r]->ReadLine() == "UNAVAILABLE: rank 1 is gone: connection closed");
  }
}

TEST_CASE("Messenger: all hear which rank was stopped, when patience has run out", "[collective]") {
  const std::string bytes = GENERATE("1", "5000000"), count = GENERATE("-1", "0");
  const RankProcesses ranks = StartRanks("messenger_program", 4, {"800", bytes, count});
  ranks[1]->Signal(SIGSTOP);
  const std::string reason =
      "DEADLINE_EXCEEDED: rank 1 stands still: nothing from it for 0.8 s in the exchange of messages";
  for (const int r : {0, 2, 3}) CHECK(ranks[r]->ReadLine() == reason);
  ranks[1]->Signal(SIGCONT);
  CHECK(ranks[1]->ReadLine() == reason);
}

}  // namespace
}  // namespace winnow
