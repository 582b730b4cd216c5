#include "server/standby.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "base/status_text.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A leader that has been silent for longer is given no calls.
constexpr milliseconds kSilence{1'500};
// How often it reads who may do what, and looks for events.
constexpr milliseconds kRefreshEvery{300};
// It does not listen on permissions that are older, nor without a leader for longer: another standby may
// lead.
constexpr milliseconds kOldPermissions{2'000};
constexpr milliseconds kWithoutLeader{5'000};
constexpr milliseconds kOpenAgain{2'000};

}  // namespace

Standby::Standby(StandbyOptions options)
    : options_(std::move(options)), link_(options_.grpc.tls, options_.leader_ca) {}

Standby::~Standby() {
  Close();
  if (closing_.joinable()) closing_.join();
}

void Standby::See(const OtherLeader& leader) {
  absl::Status status = link_.Set(leader.silence < kSilence ? leader.address : "");
  const bool connected = link_.Connected();
  const Time now = steady_clock::now();
  if (connected) connected_ = now;
  if (now >= next_refresh_ && (connected || running_ != nullptr)) {
    next_refresh_ = now + kRefreshEvery;
    const absl::Status refreshed = Refresh();
    if (refreshed.ok()) refreshed_ = now;
    if (status.ok()) status = refreshed;
  }
  const bool fresh = refreshed_ != Time() && now - refreshed_ < kOldPermissions;
  if (running_ != nullptr && (!fresh || now - connected_ > kWithoutLeader)) {
    spdlog::warn("does not listen now, because it {}",
                 fresh ? "has no connection to the server that leads" : "cannot read the database");
    Close();
  }
  if (running_ == nullptr && connected && fresh && now >= next_open_) {
    next_open_ = now + kOpenAgain;
    const absl::Status opened = Open();
    if (!opened.ok()) Close();
    if (status.ok()) status = opened;
  }
  if (!status.ok() && told_ != status.message()) {
    told_ = std::string(status.message());
    spdlog::warn("as a standby: {}", MessageOf(status));
  }
}

absl::Status Standby::Refresh() {
  if (store_ == nullptr) {
    absl::StatusOr<std::unique_ptr<Store>> store = Store::OpenReadOnly(options_.database);
    if (!store.ok()) return store.status();
    store_ = *std::move(store);
  }
  absl::StatusOr<Permissions> permissions = ReadPermissions(*store_);
  if (!permissions.ok()) {
    store_ = nullptr;
    return permissions.status();
  }
  permissions_ = *std::move(permissions);
  if (running_ == nullptr) return absl::OkStatus();
  running_->grpc->PutPermissions(permissions_);
  running_->hub.PublishAll();
  return absl::OkStatus();
}

absl::Status Standby::Open() {
  if (closing_.joinable()) closing_.join();
  running_ = std::make_unique<Running>();
  absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Start(options_.database, Clock::System());
  if (!reader.ok()) return reader.status();
  running_->reader = *std::move(reader);
  GrpcServerOptions options = options_.grpc;
  options.metrics = &running_->metrics;
  absl::StatusOr<std::unique_ptr<GrpcServer>> grpc =
      GrpcServer::StartStandby(options, permissions_, link_, *running_->reader, running_->hub);
  if (!grpc.ok()) return grpc.status();
  running_->grpc = *std::move(grpc);
  const std::string host = options.address.substr(0, options.address.rfind(':'));
  options_.grpc.address = fmt::format("{}:{}", host, running_->grpc->port());
  if (options_.http) {
    absl::StatusOr<std::unique_ptr<HttpServer>> http =
        options_.http(*running_->grpc, MakeHealthProbe(*running_->reader), running_->metrics);
    if (!http.ok()) return http.status();
    running_->http = *std::move(http);
  }
  if (options_.opened) {
    if (absl::Status status = options_.opened(running_->grpc->port()); !status.ok()) return status;
  }
  spdlog::info("answers reads at {} as a standby, and passes all else on to {}", address(),
               link_.Current().address);
  return absl::OkStatus();
}

void Standby::Close() {
  if (closing_.joinable()) closing_.join();
  if (running_ == nullptr) return;
  constexpr milliseconds kAtOnce{0};
  if (running_->grpc != nullptr) running_->grpc->Stop(kAtOnce);
  if (running_->http != nullptr) running_->http->Stop(kAtOnce);
  closing_ = std::thread([running = std::move(running_)]() mutable { running = nullptr; });
}

}  // namespace winnow
