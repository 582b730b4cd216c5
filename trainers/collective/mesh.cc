#include "trainers/collective/mesh.h"

#include <chrono>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "trainers/collective/group_error.h"
#include "trainers/collective/hello.h"
#include "trainers/collective/link.h"
#include "trainers/collective/reception.h"

namespace winnow {
namespace {

absl::Status ConnectBelow(const RankOptions& options, std::span<const Endpoint> endpoints, Deadline deadline,
                          std::vector<Socket>* sockets) {
  for (int r = 0; r < options.rank; ++r) {
    if ((*sockets)[r].is_open()) continue;
    absl::StatusOr<Socket> socket = ConnectTo(endpoints[r], deadline);
    const Hello hello = HelloOf(options, 0);
    absl::Status status = socket.status();
    if (status.ok()) status = SendAll(*socket, &hello, sizeof hello, deadline);
    if (!status.ok()) {
      const std::string why(status.message().data(), status.message().size());
      return OfRank(options.rank, absl::UnavailableError(fmt::format("cannot reach rank {} at {}: {}", r,
                                                                     ToText(endpoints[r]), why)));
    }
    (*sockets)[r] = *std::move(socket);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<int> MissingRanks(std::span<const Socket> sockets, int first) {
  std::vector<int> missing;
  for (int r = first; r < static_cast<int>(sockets.size()); ++r) {
    if (!sockets[r].is_open()) missing.push_back(r);
  }
  return missing;
}

absl::Status DidNotCome(const RankOptions& options, const std::vector<int>& missing) {
  return absl::DeadlineExceededError(
      fmt::format("{} {} of {} did not come within {} s", missing.size() == 1 ? "rank" : "ranks",
                  fmt::join(missing, ", "), options.size,
                  static_cast<double>(options.rendezvous_patience.count()) / 1000));
}

absl::Status ConnectMesh(const RankOptions& options, std::span<const Endpoint> endpoints,
                         const Socket& listener, Deadline deadline, std::vector<Socket>* sockets) {
  if (absl::Status status = ConnectBelow(options, endpoints, deadline, sockets); !status.ok()) return status;
  const Hello mine = HelloOf(options, 0);
  Reception reception(&listener, [&](const Hello& hello, Socket* socket) {
    const bool belongs = hello.version == mine.version && hello.group == mine.group &&
                         hello.size == mine.size && hello.rank > mine.rank && hello.rank < mine.size;
    if (belongs && !(*sockets)[hello.rank].is_open()) (*sockets)[hello.rank] = std::move(*socket);
  });
  while (!MissingRanks(*sockets, options.rank + 1).empty()) {
    if (std::chrono::steady_clock::now() >= deadline)
      return DidNotCome(options, MissingRanks(*sockets, options.rank + 1));
    const int ended = reception.Await(*sockets, deadline);
    if (ended < 0) continue;
    // It may have sent the reason.
    Link link(std::move((*sockets)[ended]));
    link.Drain();
    return link.peer_error().ok() ? IsGone(ended, "connection closed") : link.peer_error();
  }
  return absl::OkStatus();
}

}  // namespace winnow
