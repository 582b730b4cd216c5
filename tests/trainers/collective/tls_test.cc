// Ranks that talk TLS: who is let in, and what others see of it.
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/rank_name.h"
#include "tests/catch.h"
#include "tests/trainers/collective/credentials.h"
#include "trainers/collective/tcp_ranks.h"

namespace winnow {
namespace {

using Group = absl::StatusOr<std::unique_ptr<Communicator>>;
using std::chrono::milliseconds;

struct Place {
  Socket listener = *ListenAt({LoopbackAddress(), 0});
  int port = OwnEndpoint(listener).port;

  RankOptions Options(int rank, std::shared_ptr<const RankIdentity> identity, int at = 0) const {
    RankOptions options;
    options.rank = rank;
    options.size = 2;
    options.master_port = at == 0 ? port : at;
    options.group = "test";
    options.identity = std::move(identity);
    options.rendezvous_patience = std::chrono::minutes(2);
    return options;
  }
};

std::string Text(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

// Rank 0 waits for the two ranks while `visit` is there, and then the right rank 1 comes.
template <typename Visit>
void CheckStays(const Credentials& right, Visit visit) {
  Place place;
  auto zero = std::async(std::launch::async, [&] {
    return ConnectRanks(place.Options(0, right.Identity(0)), std::move(place.listener));
  });
  visit(place);
  const Group one = ConnectRanks(place.Options(1, right.Identity(1)));
  INFO(one.status());
  CHECK(one.ok());
  CHECK(zero.get().ok());
}

TEST_CASE("TLS: a rank with another authority's certificate is refused", "[collective]") {
  const Credentials right(2), other(2), mixed(2);
  CheckStays(right, [&](const Place& place) {
    // It refuses rank 0, as every true rank would.
    const absl::Status its = ConnectRanks(place.Options(1, other.Identity(1))).status();
    CHECK(absl::IsUnavailable(its));
    CHECK_THAT(Text(its), Catch::Matchers::StartsWith("rank 0 is gone: its certificate is refused: "));
    // It trusts rank 0, which refuses it.
    std::filesystem::copy_file(right.folder(1) / kRankAuthorityFile, mixed.folder(1) / kRankAuthorityFile,
                               std::filesystem::copy_options::overwrite_existing);
    const absl::Status zeros = ConnectRanks(place.Options(1, mixed.Identity(1))).status();
    CHECK(absl::IsUnavailable(zeros));
    CHECK_THAT(Text(zeros),
               Catch::Matchers::StartsWith("rank 0 is gone: it refuses this rank's certificate: "));
  });
}

TEST_CASE("TLS: who talks plain text, or shows no certificate, is refused", "[collective]") {
  const Credentials right(2);
  CheckStays(right, [&](const Place& place) {
    RankOptions plain = place.Options(1, nullptr);
    plain.rendezvous_patience = milliseconds(300);
    CHECK(absl::IsDeadlineExceeded(ConnectRanks(plain).status()));

    const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
    const std::unique_ptr<SSL, void (*)(SSL*)> stranger(SSL_new(context.get()), SSL_free);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = LoopbackAddress();
    address.sin_port = htons(static_cast<uint16_t>(place.port));
    REQUIRE(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    SSL_set_fd(stranger.get(), fd);
    char byte = 0;
    CHECK(SSL_connect(stranger.get()) == 1);  // TLS 1.3: rank 0's answer comes after
    CHECK(SSL_read(stranger.get(), &byte, 1) <= 0);
    close(fd);
  });
}

TEST_CASE("TLS: an impostor is named when the true rank does not come", "[collective]") {
  const Credentials right(3);
  Place place;
  RankOptions options = place.Options(0, right.Identity(0));
  options.rendezvous_patience = std::chrono::seconds(2);
  auto zero =
      std::async(std::launch::async, [&] { return ConnectRanks(options, std::move(place.listener)); });
  // Rank 2 says that it is rank 1.
  const auto lies = [](int of) { return RankName("test", "1", "1", of == 1 ? 2 : of); };
  RankOptions impostor = place.Options(1, RankIdentity::Read(right.folder(2), 1, lies).value());
  impostor.rendezvous_patience = std::chrono::seconds(2);
  CHECK_FALSE(ConnectRanks(impostor).ok());
  const absl::Status status = zero.get().status();
  CHECK(absl::IsDeadlineExceeded(status));
  CHECK_THAT(Text(status),
             Catch::Matchers::StartsWith("rank 1 of 2 did not come within 2 s; refused: 127.0.0.1:"));
  CHECK_THAT(Text(status),
             Catch::Matchers::EndsWith(
                 ": its certificate is that of winnow:job/test/trial/1/attempt/1/rank/2, not of "
                 "winnow:job/test/trial/1/attempt/1/rank/1"));
  CHECK(Text(RankIdentity::Read(right.folder(2), 1, [](int of) { return RankName("test", "1", "1", of); })
                 .status())
            .find("not of winnow:job/test/trial/1/attempt/1/rank/1") != std::string::npos);
}

TEST_CASE("TLS: an expired certificate is refused", "[collective]") {
  const Credentials expired(2, 1, std::time(nullptr) - 48 * 3600);
  Place place;
  RankOptions options = place.Options(0, expired.Identity(0));
  options.rendezvous_patience = std::chrono::seconds(2);
  auto zero =
      std::async(std::launch::async, [&] { return ConnectRanks(options, std::move(place.listener)); });
  const absl::Status status = ConnectRanks(place.Options(1, expired.Identity(1))).status();
  CHECK(absl::IsUnavailable(status));
  CHECK(Text(status) == "rank 0 is gone: its certificate is refused: certificate has expired");
  CHECK_FALSE(zero.get().ok());
}

// Passes bytes on between two sockets until one ends; returns all of them.
std::string Relay(const Socket& one, const Socket& other) {
  std::string all;
  const Socket* const ends[] = {&one, &other};
  std::vector<char> buffer(1 << 16);
  while (true) {
    pollfd waiting[] = {{one.fd(), POLLIN, 0}, {other.fd(), POLLIN, 0}};
    poll(waiting, 2, -1);
    for (int from = 0; from < 2; ++from) {
      if (waiting[from].revents == 0) continue;
      iovec piece{buffer.data(), buffer.size()};
      const std::ptrdiff_t got = ends[from]->Receive({&piece, 1});
      if (got == Socket::kEnded) return all;
      all.append(buffer.data(), static_cast<std::size_t>(got));
      const auto soon = std::chrono::steady_clock::now() + std::chrono::minutes(1);
      if (got > 0 && !SendAll(*ends[1 - from], buffer.data(), static_cast<std::size_t>(got), soon).ok())
        return all;
    }
  }
}

TEST_CASE("TLS: who listens in between reads nothing of what the ranks exchange", "[collective]") {
  const bool secure = GENERATE(false, true);
  CAPTURE(secure);
  const Credentials credentials(2);
  const std::string secret(2000, 'S');
  Place place;
  const Socket middle = *ListenAt({LoopbackAddress(), 0});
  const auto run = [&](int rank, int port, Socket listener) {
    const RankOptions options = place.Options(rank, secure ? credentials.Identity(rank) : nullptr, port);
    Group group = listener.is_open() ? ConnectRanks(options, std::move(listener)) : ConnectRanks(options);
    return group.ok() && (*group)->AllGather(secret).ok();
  };
  auto zero = std::async(std::launch::async, [&] { return run(0, place.port, std::move(place.listener)); });
  auto one = std::async(std::launch::async, [&] { return run(1, OwnEndpoint(middle).port, Socket()); });
  pollfd waiting{middle.fd(), POLLIN, 0};
  poll(&waiting, 1, -1);
  const Socket from = AcceptFrom(middle);
  const auto soon = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const std::string seen = Relay(from, *ConnectTo({LoopbackAddress(), place.port}, soon));
  CHECK((seen.find(secret.substr(0, 100)) == std::string::npos) == secure);
  CHECK((seen.find("test") == std::string::npos) == secure);
  zero.get();
  one.get();
}

TEST_CASE("TLS: a connection that never shakes hands does not keep the ranks from each other",
          "[collective]") {
  const Credentials right(2);
  CheckStays(right, [&](const Place& place) {
    const auto soon = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    static Socket silent;
    silent = *ConnectTo({LoopbackAddress(), place.port}, soon);
    // And one that breaks off in the middle.
    const Socket broken = *ConnectTo({LoopbackAddress(), place.port}, soon);
    CHECK(SendAll(broken, "\x16\x03\x01\x02", 4, soon).ok());
  });
}

}  // namespace
}  // namespace winnow
