#include "tests/trainers/collective/make_group.h"

#include <thread>

#include "tests/trainers/collective/credentials.h"
#include "tests/trainers/collective/thread_ranks.h"
#include "trainers/collective/tcp_ranks.h"

namespace winnow {
namespace {

std::vector<std::unique_ptr<Communicator>> MakeTcpRanks(int size, std::chrono::milliseconds patience,
                                                        const Credentials* credentials) {
  RankOptions options;
  options.size = size;
  options.group = "test";
  options.patience = patience;
  Socket listener = *ListenAt({*ResolveHost("127.0.0.1"), 0});
  options.master_port = OwnEndpoint(listener).port;
  std::vector<std::unique_ptr<Communicator>> ranks(size);
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([&, mine = options, r]() mutable {
      mine.rank = r;
      if (credentials != nullptr) mine.identity = credentials->Identity(r);
      auto rank = r == 0 ? ConnectRanks(mine, std::move(listener)) : ConnectRanks(mine);
      ranks[r] = std::move(rank).value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ranks;
}

}  // namespace

std::vector<std::string> GroupKinds() { return {"threads", "tcp", "tls"}; }

std::vector<std::unique_ptr<Communicator>> MakeGroup(const std::string& kind, int size,
                                                     std::chrono::milliseconds patience) {
  if (kind == "threads") return MakeThreadRanks(size, patience);
  if (kind == "tcp") return MakeTcpRanks(size, patience, nullptr);
  const Credentials credentials(size);
  return MakeTcpRanks(size, patience, &credentials);
}

}  // namespace winnow
