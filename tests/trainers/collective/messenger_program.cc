// A rank as a process that exchanges messages, for tests that kill it: it takes its place from the
// environment and connects. Arguments: milliseconds of patience; bytes of a message; messages to send to the
// next rank, each answered by one from the rank before, or -1: for ever, or 0: waits for one that never
// comes. Standard output: "ready" once it is connected, then "ok", or the error that ended it.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "trainers/collective/messenger.h"
#include "trainers/collective/tcp_ranks.h"

namespace {

absl::Status Exchange(winnow::Messenger* messenger, std::size_t size, int count) {
  const std::vector<std::byte> bytes(size);
  const int ranks = messenger->size(), me = messenger->rank();
  if (count == 0) return messenger->ReceiveAny(9).status();
  for (int i = 0; i != count; ++i) {
    if (absl::Status status = messenger->Send((me + 1) % ranks, 1, bytes); !status.ok()) return status;
    const auto message = messenger->Receive((me + ranks - 1) % ranks, 1);
    if (!message.ok()) return message.status();
    if (message->bytes.size() != size) return absl::DataLossError("a message of another size");
  }
  return messenger->Close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  winnow::RankOptions options;
  options.rendezvous_patience = std::chrono::seconds(20);
  const auto group =
      winnow::RanksFromEnvironment([](const char* name) { return std::getenv(name); }, options);
  absl::Status status = group.status();
  if (status.ok()) {
    const auto messenger =
        winnow::ConnectMessenger(group->get(), {std::chrono::milliseconds(std::atoi(argv[1]))});
    status = messenger.status();
    if (status.ok()) {
      std::puts("ready");
      std::fflush(stdout);
      status = Exchange(messenger->get(), static_cast<std::size_t>(std::atoi(argv[2])), std::atoi(argv[3]));
    }
  }
  std::puts(status.ok() ? "ok" : status.ToString().c_str());
  return 0;
}
