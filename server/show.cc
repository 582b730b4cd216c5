#include "server/show.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "server/engine/coordinator.h"
#include "server/engine/hub.h"
#include "server/host/last_resort.h"
#include "server/host/shown_copy.h"
#include "server/reads/reads.h"
#include "server/stopping.h"

namespace winnow {
namespace {

absl::Status CheckTokens(Store& store, const std::string& file) {
  const absl::StatusOr<std::vector<TokenRow>> tokens = store.tokens.List();
  if (!tokens.ok()) return tokens.status();
  if (!tokens->empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "{} has no tokens, as an archive has none, so nobody could be let in; expected a loopback address and "
      "neither --require-tokens nor --tls-cert",
      file));
}

}  // namespace

absl::Status Show(ShowOptions options) {
  std::optional<LastResort> last_resort;  // until all that follows is destroyed
  absl::StatusOr<std::unique_ptr<ShownCopy>> copy = ShownCopy::Make(options.file, options.asked_to_end);
  if (absl::IsCancelled(copy.status())) return absl::OkStatus();
  if (!copy.ok()) return copy.status();
  std::unique_ptr<Store> store = (*copy)->TakeStore();
  const std::string name = store->database().file();
  if (options.grpc.auth.tokens_required) {
    if (absl::Status tokens = CheckTokens(*store, options.file); !tokens.ok()) return tokens;
  }
  options.grpc.auth.shown_file = options.file;

  Hub hub;
  Metrics metrics;
  options.grpc.metrics = &metrics;
  absl::StatusOr<std::unique_ptr<Coordinator>> coordinator = Coordinator::StartToShow(std::move(store), hub);
  if (!coordinator.ok()) return coordinator.status();
  absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Start(name, Clock::System());
  if (!reader.ok()) return reader.status();
  absl::StatusOr<std::unique_ptr<GrpcServer>> server =
      GrpcServer::Start(options.grpc, **coordinator, **reader, hub);
  if (!server.ok()) return server.status();
  absl::StatusOr<std::unique_ptr<HttpServer>> http =
      options.http(**server, MakeHealthProbe(**coordinator, **reader), metrics);
  if (!http.ok()) return http.status();
  if (absl::Status status = options.opened((*server)->port()); !status.ok()) return status;
  const std::string& address = options.grpc.address;
  spdlog::info("winnow-server {} shows {} at {}:{} and changes nothing", WINNOW_VERSION, options.file,
               address.substr(0, address.rfind(':')), (*server)->port());

  options.wait_for_end();
  last_resort.emplace(kAllEnds, [folder = (*copy)->folder()] {
    std::error_code none;
    std::filesystem::remove_all(folder, none);
    LeaveAtOnce();
  });
  (*server)->AnnounceStop();
  if (*http != nullptr) (*http)->AnnounceStop();
  (*server)->Stop(kCallsEnd);
  if (*http != nullptr) (*http)->Stop(kAnswersEnd);
  spdlog::info("stopped");
  return absl::OkStatus();
}

}  // namespace winnow
