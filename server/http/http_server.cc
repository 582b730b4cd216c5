#include "server/http/http_server.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <filesystem>
#include <list>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "rpc/address.h"
#include "server/grpc/open_files.h"
#include "server/http/connection.h"

namespace winnow {
namespace {

// The TLS context of new connections, made again when its files change. Thread-safe.
class TlsContexts {
 public:
  using Context = std::shared_ptr<boost::asio::ssl::context>;

  // INVALID_ARGUMENT: the files are unusable.
  static absl::StatusOr<std::unique_ptr<TlsContexts>> Open(const TlsFiles& files);

  // Checks the files at most once a second; unusable files leave the context unchanged.
  Context Current();

 private:
  using Times =
      std::array<std::filesystem::file_time_type, 3>;  // of the certificate, key and clients' authority
  explicit TlsContexts(const TlsFiles& files) : files_(files) {}
  Times FileTimes() const;

  const TlsFiles files_;
  Mutex mutex_;
  Context context_ ABSL_GUARDED_BY(mutex_);
  Times times_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point looked_ ABSL_GUARDED_BY(mutex_);
};

namespace ssl = boost::asio::ssl;
namespace fs = std::filesystem;

constexpr std::chrono::seconds kCheckFilesEvery{1};
constexpr unsigned char kSessions[] = "winnow";
// For TLS 1.2; all suites of 1.3 qualify: forward secrecy and authenticated encryption.
constexpr char kSuites[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

absl::StatusOr<TlsContexts::Context> Load(const TlsFiles& files) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  context->set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  if (SSL_CTX_set_cipher_list(context->native_handle(), kSuites) != 1) {
    return absl::InternalError(std::string("this OpenSSL knows none of the cipher suites ") + kSuites);
  }
  boost::system::error_code error;
  const auto wrong = [&](const char* flag, const std::string& file) {
    return absl::InvalidArgumentError(std::string(flag) + ": " + file + ": " + error.message());
  };
  context->use_certificate_chain_file(files.cert, error);
  if (error) return wrong("--tls-cert", files.cert);
  context->use_private_key_file(files.key, ssl::context::pem, error);
  if (error) return wrong("--tls-key", files.key);
  if (!files.client_ca.empty()) {
    context->load_verify_file(files.client_ca, error);
    if (error) return wrong("--tls-client-ca", files.client_ca);
    context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  }
  // Thousands of idle connections hold no buffers; sessions are resumed under our own id only.
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_id_context(context->native_handle(), kSessions, sizeof kSessions - 1);
  return context;
}

TlsContexts::Times TlsContexts::FileTimes() const {
  std::error_code error;
  Times times = {fs::last_write_time(files_.cert, error), fs::last_write_time(files_.key, error)};
  if (!files_.client_ca.empty()) times[2] = fs::last_write_time(files_.client_ca, error);
  return times;
}

absl::StatusOr<std::unique_ptr<TlsContexts>> TlsContexts::Open(const TlsFiles& files) {
  std::unique_ptr<TlsContexts> contexts(new TlsContexts(files));
  MutexLock lock(contexts->mutex_);
  contexts->times_ = contexts->FileTimes();
  contexts->looked_ = std::chrono::steady_clock::now();
  absl::StatusOr<Context> first = Load(files);
  if (!first.ok()) return first.status();
  contexts->context_ = *std::move(first);
  return contexts;
}

TlsContexts::Context TlsContexts::Current() {
  MutexLock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kCheckFilesEvery) return context_;
  looked_ = now;
  const Times times = FileTimes();
  if (times == times_) return context_;
  absl::StatusOr<Context> renewed = Load(files_);
  if (renewed.ok()) {
    context_ = *std::move(renewed);
    times_ = times;  // on failure it is tried again: key and certificate may be replaced one after the other
  }
  return context_;
}

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

// Files reserved for everything else: gRPC's connections, the database, logs.
constexpr size_t kOtherFiles = 1024;
// Pause before accept is tried again for want of files.
constexpr std::chrono::milliseconds kAcceptAgain{50};
// Time to disconnect what `grace` did not end.
constexpr std::chrono::seconds kCutOff{5};

// Asio leaves its sockets open over exec. Child processes must not inherit connections or the port.
void CloseOnExec(int socket) { fcntl(socket, F_SETFD, FD_CLOEXEC); }

size_t MostConnections(size_t wanted) {
  const size_t files = RaiseFileLimit();
  return std::min(wanted, files > 2 * kOtherFiles ? files - kOtherFiles : files / 2);
}

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(HttpListenOptions options) : options_(std::move(options)) {}

  CallCount& calls() { return calls_; }
  // Before Listen.
  void SetHandler(std::unique_ptr<RequestHandler> handler) {
    app_ = std::move(handler);
    shared_.emplace(*app_, options_.limits, connections_);
  }

  absl::Status Listen() {
    const std::string& address = options_.address;
    const TlsFiles& tls = options_.tls;
    if (tls.used()) {
      absl::StatusOr<std::unique_ptr<TlsContexts>> contexts = TlsContexts::Open(tls);
      if (!contexts.ok()) return contexts.status();
      contexts_ = *std::move(contexts);
    }
    const absl::StatusOr<Address> parsed = ParseAddress(address, 0);
    if (!parsed.ok()) return parsed.status();
    error_code error;
    const auto found = tcp::resolver(io_).resolve(parsed->host, std::to_string(parsed->port), error);
    std::string problem = error ? error.message() : "the name cannot be resolved";
    for (const auto& entry : found) {
      tcp::endpoint endpoint = entry.endpoint();
      // all listeners use the port of the first
      if (port_ != 0) endpoint.port(static_cast<unsigned short>(port_));
      error = Open(endpoint);
      if (error == net::error::address_in_use) return Taken(address, error.message());
      if (error) problem = error.message();
    }
    return acceptors_.empty() ? Taken(address, problem) : absl::OkStatus();
  }

  void Run() {
    for (tcp::acceptor& acceptor : acceptors_) {
      net::co_spawn(
          acceptor.get_executor(), [this, &acceptor] { return Accept(acceptor); }, net::detached);
    }
    for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { io_.run(); });
  }

  void Stop(std::chrono::milliseconds grace) {
    if (threads_.empty()) return;
    app_->AnnounceStop();
    stopping_ = true;
    for (tcp::acceptor& acceptor : acceptors_) {
      net::post(acceptor.get_executor(), [&acceptor] { acceptor.close(); });
    }
    connections_.StopWaiting();
    if (!connections_.WaitForNone(grace)) {
      connections_.CloseAll();
      connections_.WaitForNone(kCutOff);
    }
    calls_.WaitForNone();
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  int port() const { return port_; }
  RequestHandler& app() { return *app_; }

 private:
  absl::Status Taken(const std::string& address, const std::string& why) const {
    return absl::UnavailableError(fmt::format(
        "cannot listen on {}: {}; name another address with {}, or \"off\"", address, why, options_.flag));
  }

  error_code Open(const tcp::endpoint& endpoint) {
    error_code error;
    tcp::acceptor acceptor(net::make_strand(io_));
    acceptor.open(endpoint.protocol(), error);
    if (!error) CloseOnExec(acceptor.native_handle());
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && endpoint.protocol() == tcp::v6()) acceptor.set_option(net::ip::v6_only(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
    if (error) return error;
    port_ = acceptor.local_endpoint().port();
    acceptors_.push_back(std::move(acceptor));
    return error;
  }

  net::awaitable<void> Accept(tcp::acceptor& acceptor) {
    while (!stopping_) {
      error_code error;
      tcp::socket socket(net::make_strand(io_));
      co_await acceptor.async_accept(socket, net::redirect_error(net::use_awaitable, error));
      if (error == net::error::operation_aborted || stopping_) co_return;
      if (error) {
        net::steady_timer pause(acceptor.get_executor(), kAcceptAgain);
        co_await pause.async_wait(net::redirect_error(net::use_awaitable, error));
        continue;
      }
      CloseOnExec(socket.native_handle());
      socket.set_option(tcp::no_delay(true), error);
      ServeConnection(std::move(socket), contexts_ == nullptr ? nullptr : contexts_->Current(), *shared_);
    }
  }

  const HttpListenOptions options_;
  CallCount calls_;
  std::unique_ptr<RequestHandler> app_;
  Connections connections_{MostConnections(options_.limits.connections)};
  std::optional<Shared> shared_;
  std::unique_ptr<TlsContexts> contexts_;
  net::io_context io_{options_.threads};
  net::executor_work_guard<net::io_context::executor_type> work_ = net::make_work_guard(io_);
  std::list<tcp::acceptor> acceptors_;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { Stop(std::chrono::milliseconds(0)); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options,
                                                              std::shared_ptr<grpc::Channel> channel) {
  auto impl = std::make_unique<Impl>(HttpListenOptions{
      .address = options.address, .tls = options.tls, .limits = options.limits, .threads = options.threads});
  HttpAppOptions app;
  app.path = {std::move(channel), std::move(options.relay_key), options.limits.call, &impl->calls()};
  app.tokens_required = options.tokens_required;
  app.tls = options.tls.used();
  app.probe = std::move(options.probe);
  app.leads = options.leads;
  app.metrics = std::move(options.metrics);
  app.sign_in = std::move(options.sign_in);
  app.leader_signs_in = options.leader_signs_in;
  impl->SetHandler(std::make_unique<HttpApp>(std::move(app)));
  return Start(std::move(impl));
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpListenOptions options,
                                                              std::unique_ptr<RequestHandler> handler) {
  auto impl = std::make_unique<Impl>(std::move(options));
  impl->SetHandler(std::move(handler));
  return Start(std::move(impl));
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(std::unique_ptr<Impl> impl) {
  if (absl::Status status = impl->Listen(); !status.ok()) return status;
  impl->Run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

int HttpServer::port() const { return impl_->port(); }
void HttpServer::AnnounceStop() { impl_->app().AnnounceStop(); }
void HttpServer::Stop(std::chrono::milliseconds grace) { impl_->Stop(grace); }

}  // namespace winnow
